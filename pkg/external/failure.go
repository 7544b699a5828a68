package external

import (
	"cmp"
	"errors"
	"slices"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// failed returns the reconcile.Outcome for an error of the [Actuator], and updates pass.verdict: whether
// the place answered, or failed ([Error.Outage]).
func (r *reconciler[K, R]) failed(p *pass[K, R], err error) reconcile.Outcome {
	known, ok := errors.AsType[*Error](err)
	if ok && known.Outage {
		p.verdict.failure = known
	}
	p.verdict.answered = p.verdict.answered || wasAnswered(err)
	switch {
	case err == nil:
		return reconcile.Outcome{}
	case !ok:
		return reconcile.Fail(condition.ReasonTransientError, err)
	case known.Class == Invalid:
		return reconcile.Refuse(cmp.Or(known.Reason, condition.ReasonInvalidConfiguration), "%s", known.Message)
	case known.Class == Underway:
		return reconcile.Progress(condition.ReasonProgressing, "%s", known.Message)
	case known.After > 0:
		return reconcile.Retry(min(known.After, longestAsked), cmp.Or(known.Reason, condition.ReasonTransientError), err)
	default:
		return reconcile.Fail(cmp.Or(known.Reason, condition.ReasonTransientError), err)
	}
}

func isClass(err error, class Class) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && known.Class == class
}

// wasAnswered reports whether the class of an error ([Refused], [Busy], [Invalid], [Missing]) means that
// the cloud did nothing.
func wasAnswered(err error) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]Class{Refused, Busy, Invalid, Missing}, known.Class)
}
