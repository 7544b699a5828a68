package reconcile

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kinship-dev/kinship/pkg/object"
)

// ConflictRetry is the pause until the cache shows the write of another client: the back-off
// for failures would cost a second.
const ConflictRetry = 10 * time.Millisecond

// Queue passes an [object.ID] on to the workqueue of a running [Controller]. Before the
// controller runs (in a replica that is not the leader), Queue drops every ID: the controller
// begins with [Controller.All]. Queue is safe for concurrent use; the zero value is ready to
// use.
type Queue struct {
	work atomic.Pointer[workqueue.TypedRateLimitingInterface[object.ID]]
}

// Add requests the reconciliation of an object, unless the workqueue contains its [object.ID]
// already.
func (q *Queue) Add(id object.ID) {
	if work := q.work.Load(); work != nil {
		(*work).Add(id)
	}
}

// Join makes the Queue pass each [object.ID] on to the workqueue of another Queue, for which
// [Queue.Running] is true.
func (q *Queue) Join(other *Queue) { q.work.Store(other.work.Load()) }

// Running reports whether the controller runs and [Queue.Add] has an effect.
func (q *Queue) Running() bool { return q.work.Load() != nil }

// Controller reconciles the objects that its [Queue] names. A Controller runs in the leader.
type Controller struct {
	// Name of the controller, in logs and in metrics such as controller_runtime_reconcile_total.
	Name string
	// Reconciler works on one object.
	Reconciler reconcile.TypedReconciler[object.ID]
	// Queue names the objects to reconcile.
	Queue *Queue
	// Workers is MaxConcurrentReconciles of the controller.
	Workers int
	// Share is how many passes over objects of one namespace run at the same time while objects of other namespaces are
	// worked on too. Zero means any number. Set Share for passes that send many requests to the API server: the passes of
	// a tenant with many objects would occupy all workers, and their requests the API server, so that each request of
	// another tenant waits for 16 requests of this one. A namespace that is alone has all workers.
	Share int
	// RateLimiter delays the repetition of failed attempts; nil means the RateLimiter of
	// controller-runtime.
	RateLimiter workqueue.TypedRateLimiter[object.ID]
	// Heard waits until the caches have every object that exists at the start, as
	// WaitForCacheSync does, and returns false if the context ended before. No object is
	// reconciled before.
	Heard func(context.Context) bool
	// All returns the objects that are reconciled first, as soon as [Controller.Heard] returns.
	All func() []object.ID
}

// AddTo adds the controller to a manager.
func (c Controller) AddTo(mgr manager.Manager) error {
	skip := true // Names are unique in a process; tests run several operators in one.
	log := mgr.GetLogger().WithValues("controller", c.Name)
	made, err := controller.NewTyped(c.Name, mgr, controller.TypedOptions[object.ID]{
		Reconciler: Quiet(Behind(mgr, withSpans(mgr, c.Reconciler))), MaxConcurrentReconciles: c.Workers,
		RateLimiter: c.RateLimiter, NewQueue: newFairQueue(c.Share), SkipNameValidation: &skip,
		LogConstructor: func(id *object.ID) logr.Logger {
			if id == nil {
				return log
			}
			return log.WithValues("reconciles", id.String())
		},
	})
	if err != nil {
		return fmt.Errorf("make controller %s: %w", c.Name, err)
	}
	return made.Watch(source.TypedFunc[object.ID](c.begin))
}

// begin is the source.Source of the controller.
func (c Controller) begin(ctx context.Context, work workqueue.TypedRateLimitingInterface[object.ID]) error {
	if !c.Heard(ctx) {
		return ctx.Err()
	}
	c.Queue.work.Store(&work)
	for _, id := range c.All() {
		work.Add(id)
	}
	return nil
}

// Quiet returns a TypedReconciler that drops an error after the context has ended: the operator
// stops, and the next leader repeats the pass.
func Quiet[R comparable](r reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if ctx.Err() != nil {
			result, err = reconcile.Result{}, nil
		}
		return result, err
	})
}

// EveryReplica is a manager.Runnable that runs in every replica of the operator, and not in the leader alone.
type EveryReplica func(context.Context) error

// Start implements manager.Runnable.
func (f EveryReplica) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f EveryReplica) NeedLeaderElection() bool { return false }
