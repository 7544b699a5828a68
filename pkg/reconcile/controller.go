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

// ConflictRetry is how long to wait for a cache to show somebody else's write: a
// back-off made for failures would cost a second.
const ConflictRetry = 10 * time.Millisecond

// Queue passes wake-ups on to a controller's work queue once that runs. Before, in a
// replica that does not lead, they are dropped: the controller begins with
// everything there is. It is safe for concurrent use; the zero value is ready to
// use.
type Queue struct {
	work atomic.Pointer[workqueue.TypedRateLimitingInterface[object.ID]]
}

// Add wakes the controller for an object.
func (q *Queue) Add(id object.ID) {
	if work := q.work.Load(); work != nil {
		(*work).Add(id)
	}
}

// Running reports whether the controller runs.
func (q *Queue) Running() bool { return q.work.Load() != nil }

// Controller works on objects for which a queue wakes it. It runs in the leader.
type Controller struct {
	// Name of the controller, in logs and metrics.
	Name string
	// Reconciler works on one object.
	Reconciler reconcile.TypedReconciler[object.ID]
	// Queue wakes it.
	Queue *Queue
	// Workers is how many objects are worked on at once.
	Workers int
	// RateLimiter has failed attempts repeated; nil is that of controller-runtime.
	RateLimiter workqueue.TypedRateLimiter[object.ID]
	// Heard waits until everything is known that was there at the start, and reports
	// whether it came to that. Before, nothing is worked on.
	Heard func(context.Context) bool
	// All returns what to begin with.
	All func() []object.ID
}

// AddTo adds the controller to a manager.
func (c Controller) AddTo(mgr manager.Manager) error {
	skip := true // Names are unique in a process; tests run several operators in one.
	log := mgr.GetLogger().WithValues("controller", c.Name)
	made, err := controller.NewTyped(c.Name, mgr, controller.TypedOptions[object.ID]{
		Reconciler: Quiet(Behind(mgr, c.Reconciler)), MaxConcurrentReconciles: c.Workers,
		RateLimiter: c.RateLimiter, SkipNameValidation: &skip,
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

// begin is the source that the controller watches.
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

// Quiet returns a reconciler that does not tell of what failed because the operator
// ends: it is for the next one to try.
func Quiet[R comparable](r reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if ctx.Err() != nil {
			result, err = reconcile.Result{}, nil
		}
		return result, err
	})
}
