package guard

import (
	"context"
	"errors"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Enforcer is what has the API server refuse deletions: a webhook's configuration, or
// a policy. Others can write it too.
type Enforcer interface {
	// Objects are what it consists of.
	Objects() []object.ID
	// Check MUST return a *Fault if one of them is missing, or altered so that the API
	// server may not refuse.
	Check(ctx context.Context) error
	// Restore MUST make them as they should be, or return a *Fault where that is for
	// somebody else to do.
	Restore(ctx context.Context) error
}

// Fault says why the API server may not refuse, and what to do about it.
type Fault struct{ Message string }

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// enforce has what makes the API server refuse put right. As long as that was not
// done, nothing is confirmed.
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
		r.lose()
		r.mu.Unlock()
		err = r.Enforcer.Restore(ctx)
	}
	if err != nil && !errors.As(err, &fault) {
		return err // Nothing is known.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged, r.fault = r.changes == changes, nil
	if err != nil {
		r.fault = fault
	}
	if before != nil && r.fault == nil {
		r.lose()
	}
	return r.fault
}

// lose has everything confirmed anew. The lock mu must be held.
func (r *Rules) lose() {
	clear(r.confirmed)
	r.void(func(scope) bool { return true })
	if r.Lost != nil {
		r.Lost()
	}
}
