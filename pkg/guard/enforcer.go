package guard

import (
	"context"
	"errors"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Enforcer manages the objects that make the API server refuse deletions: a
// ValidatingWebhookConfiguration, or a ValidatingAdmissionPolicy with its
// ValidatingAdmissionPolicyBinding. Other clients can write these objects too.
type Enforcer interface {
	// Objects returns kind and name (relation.ID) of the managed objects.
	Objects() []object.ID
	// Check MUST return a *Fault if one of the objects is missing, or was changed so that the
	// API server may not refuse a deletion.
	Check(ctx context.Context) error
	// Restore MUST restore the objects, or return a *Fault if an administrator must restore
	// them (an operator without --install).
	Restore(ctx context.Context) error
}

// Fault says why the API server may not refuse a deletion, and how to correct the fault.
type Fault struct{ Message string }

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// enforce calls Enforcer.Check after each change of the [Enforcer]'s objects, and
// Enforcer.Restore if [Enforcer.Check] returns a *Fault. While a *Fault remains, enforce returns the
// *Fault, and no scope is confirmed.
func (r *Rules) enforce(ctx context.Context) error {
	r.mu.Lock()
	judged, before, changes := r.judged, r.fault, r.changes
	r.mu.Unlock()
	if r.Enforcer == nil || judged {
		return before
	}
	err := r.Enforcer.Check(ctx)
	var fault *Fault
	if errors.As(err, &fault) {
		r.Log.Info("Deletions may not be refused", "reason", fault.Message)
		r.mu.Lock()
		r.loseAll()
		r.mu.Unlock()
		err = r.Enforcer.Restore(ctx)
	}
	if err != nil && !errors.As(err, &fault) {
		return err // Check or Restore failed: Rules.fault stays as it was.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged, r.fault = r.changes == changes, nil
	if err != nil {
		r.fault = fault
	}
	if before != nil && r.fault == nil {
		r.loseAll()
	}
	return r.fault
}

// loseAll removes all scopes from Rules.confirmed and calls Rules.Lost. The caller holds mu.
func (r *Rules) loseAll() {
	clear(r.confirmed)
	r.void(func(scope) bool { return true })
	if r.Lost != nil {
		r.Lost()
	}
}
