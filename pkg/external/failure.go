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
	known := errorOf(err)
	if known.Outage {
		p.verdict.failure = known
	}
	p.verdict.answered = p.verdict.answered || wasAnswered(err)
	switch {
	case err == nil:
		return reconcile.Outcome{}
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

// errorOf returns the [Error] that err is or wraps. Any other err counts as [Transient].
func errorOf(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return &Error{}
}

// isClass reports whether err has a class other than [Transient].
func isClass(err error, class Class) bool {
	return errorOf(err).Class == class
}

// wasAnswered reports whether the class of an error ([Refused], [Busy], [Invalid], [Missing]) means that
// the cloud did nothing.
func wasAnswered(err error) bool {
	return slices.Contains([]Class{Refused, Busy, Invalid, Missing}, errorOf(err).Class)
}
