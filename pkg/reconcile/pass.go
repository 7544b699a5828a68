package reconcile

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Pass is the skeleton of a reconciler. One pass over an object calls [Pass.Read] for the
// object, runs the steps on a state S, and calls [Pass.Conclude] once: Conclude writes the
// status, and its [Outcome] tells the work queue when to repeat the pass.
//
// A Pass never works on an object that is older than the reconciler's own last write of the
// object. A Pass is safe for concurrent use if its functions are.
type Pass[S any] struct {
	// Read returns an object from the cache, or nil if the cache does not have the object. The
	// object belongs to the cache.
	Read func(ctx context.Context, id object.ID) (client.Object, error)
	// Begin returns the state of a pass. Begin MUST copy the object if a step changes the
	// object.
	Begin func(id object.ID, obj client.Object) S
	// Live are the steps for an object without metadata.deletionTimestamp, [Pass.Ending] the
	// steps for an object with metadata.deletionTimestamp. Steps run in order until a step is
	// not [Done].
	Live, Ending []Step[S]
	// Conclude writes the status. Conclude returns the given [Outcome] together with the Outcome
	// of its write. For an [Outcome.IsPassing], Conclude leaves the conditions as they were.
	Conclude func(ctx context.Context, state S, outcome Outcome) Outcome
	// Forget drops the caller's records of an object for which Pass.Read returned nil, such as
	// [Reports.Forget]. Forget may be nil.
	Forget func(ctx context.Context, id object.ID)
	// Writes records the reconciler's own writes: a Pass waits until the cache shows the last
	// write ([Writes.Unseen]).
	Writes *Writes

	// passing says since when each object has an Outcome that is passing.
	passing locked.Map[object.ID, time.Time]
}

// Reconcile implements reconcile.TypedReconciler.
func (p *Pass[S]) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	obj, err := p.Read(ctx, id)
	if err != nil {
		return ctrl.Result{}, err
	}
	if obj == nil {
		p.Writes.Forget(id)
		p.passing.Delete(id)
		if p.Forget != nil {
			p.Forget(ctx, id)
		}
		return ctrl.Result{}, nil
	}
	if p.Writes.Unseen(id, obj.GetResourceVersion()) {
		// The event of an own write requests no pass ([Writes.Concerns]), so RequeueAfter
		// repeats the pass.
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	state, steps := p.Begin(id, obj), p.Live
	if obj.GetDeletionTimestamp() != nil {
		steps = p.Ending
	}
	outcome := Run(ctx, state, steps...)
	recordOutcome(ctx, outcome)
	return p.Conclude(ctx, state, p.limited(id, outcome)).Result()
}

// passingPatience is how long the conditions of an object stay as they were for a passing Outcome. A cache may have
// stopped, and a webhook of somebody else may refuse each write with a Conflict.
const passingPatience = 5 * time.Second

// limited returns an Outcome that is not passing any longer after passingPatience.
func (p *Pass[S]) limited(id object.ID, outcome Outcome) Outcome {
	if !outcome.IsPassing() {
		p.passing.Delete(id)
		return outcome
	}
	since, isKnown := p.passing.Load(id)
	if !isKnown {
		since = time.Now()
		p.passing.Store(id, since)
	}
	if rest := passingPatience - time.Since(since); rest > 0 {
		return outcome.And(After(rest))
	}
	outcome.lasts = true
	return outcome
}

// Step is one part of a [Pass], such as the creation of a resource.
type Step[S any] struct {
	// Name of the step, in logs.
	Name string
	// Run does the work of the step on the state S of a pass. The pass ends unless the [Outcome] is
	// [Done].
	Run func(ctx context.Context, state S) Outcome
}

// Run runs steps in order on one state until a step is not [Done], and returns the [Outcome] of
// that step. At verbosity 1, the log has the name of the step and the reason.
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
