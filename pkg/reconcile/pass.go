package reconcile

import (
	"context"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Pass is the skeleton of a reconciler. One pass over an object reads the object from a
// cache, runs the steps of its life on a state S, and concludes once: Conclude writes the
// status, and the outcome tells the work queue when to come back.
//
// A Pass never works on an object that is older than the reconciler's own last write of it.
// A Pass is safe for concurrent use if its functions are.
type Pass[S any] struct {
	// Read returns the object as the cache shows it, or nil if the cache has none. The object
	// belongs to the cache.
	Read func(ctx context.Context, id object.ID) (client.Object, error)
	// Begin returns the state of a pass. It MUST copy the object if a step changes it.
	Begin func(id object.ID, obj client.Object) S
	// Live are the steps of an object that exists, Ending those of an object that is being
	// deleted. Steps run in order until one is not done.
	Live, Ending []Step[S]
	// Conclude writes the status. It returns the outcome together with what failed in writing.
	Conclude func(ctx context.Context, state S, outcome Outcome) Outcome
	// Forget drops everything that is kept of an object that the cache has no more. It may be
	// nil.
	Forget func(ctx context.Context, id object.ID)
	// Writes are the reconciler's own writes of the objects.
	Writes *Writes
}

// Reconcile implements reconcile.TypedReconciler.
func (p *Pass[S]) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	obj, err := p.Read(ctx, id)
	if err != nil {
		return ctrl.Result{}, err
	}
	if obj == nil {
		p.Writes.Forget(id)
		if p.Forget != nil {
			p.Forget(ctx, id)
		}
		return ctrl.Result{}, nil
	}
	if p.Writes.Unseen(id, obj.GetResourceVersion()) {
		// The event that brings the own write causes no pass (Writes.Concerns), so the queue does.
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	state, steps := p.Begin(id, obj), p.Live
	if obj.GetDeletionTimestamp() != nil {
		steps = p.Ending
	}
	return p.Conclude(ctx, state, Run(ctx, state, steps...)).Result()
}

// Step is one part of a life cycle.
type Step[S any] struct {
	// Name of the step, in logs.
	Name string
	// Run does the step's work on the state of a pass.
	Run func(ctx context.Context, state S) Outcome
}

// Run runs steps in order on one state until one is not done, and returns that outcome. The
// log says at verbosity 1 which step is not done, and why.
func Run[S any](ctx context.Context, state S, steps ...Step[S]) Outcome {
	for _, step := range steps {
		if o := step.Run(ctx, state); !o.IsDone() {
			logr.FromContextOrDiscard(ctx).V(1).Info("Step is not done", "step", step.Name,
				"state", o.Worst().State.String(), "reason", o.Worst().Reason, "message", o.Message())
			return o
		}
	}
	return Outcome{}
}
