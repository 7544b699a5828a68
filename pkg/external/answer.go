package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A cloud may answer with anything. An answer about another resource than the requested resource must
// change no status: with an empty status.id, the next pass would create the resource a second time. Such
// an answer is a [Transient] error, so that the request is sent again.

// verify returns an error if [Kind.Identify] returns another id than the requested id.
func (r *reconciler[K, R]) verify(resource R, asked string) error {
	if got := r.kind.Identify(resource).ID; got != asked {
		return r.otherID(got, fmt.Sprintf("%q", asked))
	}
	return nil
}

// verifyImported is like reconciler.verify, for an id that a person wrote (spec.import.id). The answer may
// spell the same id differently: "C5A2F2A4-1E0B-..." and "c5a2f2a41e0b..." are equal.
func (r *reconciler[K, R]) verifyImported(resource R, asked string) error {
	got := r.kind.Identify(resource).ID
	plain := func(id string) string { return strings.ReplaceAll(id, "-", "") }
	if got == "" || !strings.EqualFold(plain(got), plain(asked)) {
		return r.otherID(got, fmt.Sprintf("%q", asked))
	}
	return nil
}

// verifyCreated returns an error if the answer to Create has no id, or not the id of [Kind.Address]. The
// result of Create is then unknown: the intent is kept, and findAttempt searches for the resource in the
// next pass.
func (r *reconciler[K, R]) verifyCreated(p *pass[K, R], resource R) error {
	if r.kind.Address != nil {
		return r.verify(resource, r.kind.Address(p.Input))
	}
	if r.kind.Identify(resource).ID == "" && !r.isAnonymous() {
		return r.otherID("", "a new one")
	}
	return nil
}

func (r *reconciler[K, R]) otherID(got, want string) error {
	return &Error{Class: Transient, Message: fmt.Sprintf(
		"%s answered with %s %q instead of %s", r.engine.Cloud, r.kind.GVK.Kind, got, want)}
}

// find is [Actuator.Find] with verified ids. A listed resource without an id is an error, because the
// resource may come from a Create of this object.
func (r *reconciler[K, R]) find(ctx context.Context, p *pass[K, R], search Search) ([]R, error) {
	found, err := p.actuator.Find(ctx, p.Input, search)
	if err != nil {
		return nil, err
	}
	for _, resource := range found {
		if r.kind.Identify(resource).ID == "" && !r.isAnonymous() {
			return nil, &Error{Class: Transient, Message: fmt.Sprintf(
				"%s listed a %s without an id", r.engine.Cloud, r.kind.GVK.Kind)}
		}
	}
	return found, nil
}

// namesakes returns the resources with which a creation may collide: the resource at [Kind.Address], or
// all resources with a name.
func (r *reconciler[K, R]) namesakes(ctx context.Context, p *pass[K, R], name string) ([]R, error) {
	if r.kind.Address == nil {
		return r.find(ctx, p, Search{Name: name})
	}
	id := r.kind.Address(p.Input)
	if id == "" {
		return nil, &Error{Class: Invalid, Message: "the spec gives no id: no resource is named so"}
	}
	resource, err := r.get(ctx, p, id)
	if isClass(err, Missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []R{resource}, nil
}

// get is [Actuator.Get] with a verified answer (reconciler.verify).
func (r *reconciler[K, R]) get(ctx context.Context, p *pass[K, R], id string) (R, error) {
	resource, err := p.actuator.Get(ctx, p.Input, id)
	if err == nil {
		err = r.verify(resource, id)
	}
	return resource, err
}

// isAnonymous reports whether the kind's Go type implements [Anonymous].
func (r *reconciler[K, R]) isAnonymous() bool {
	_, anonymous := any(r.empty()).(Anonymous)
	return anonymous
}

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
