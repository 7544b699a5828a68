package engine

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// pool is one controller for the objects of all kinds ([Options.Pool]).
type pool struct {
	queue reconcile.Queue
	// running is closed when the controller runs: with --leader-elect, only in the leader.
	running chan struct{}
}

// startPools adds the controllers that all kinds share.
func (e *Engine) startPools() (err error) {
	if e.options.Pool == 0 {
		return nil
	}
	e.passes, err = e.startPool("kinds", e.options.Pool, func(m *member) ctrlreconcile.TypedReconciler[object.ID] {
		return m.Reconciler
	})
	if err != nil {
		return err
	}
	e.releases, err = e.startPool("kinds-guard", e.options.GuardWorkers,
		func(m *member) ctrlreconcile.TypedReconciler[object.ID] {
			if m.finalizer == nil { // Not a nil pointer in an interface.
				return nil
			}
			return m.finalizer
		})
	return err
}

// startPool adds a controller that passes each object to a reconciler of the object's kind.
func (e *Engine) startPool(
	name string, workers int, of func(*member) ctrlreconcile.TypedReconciler[object.ID],
) (*pool, error) {
	p := &pool{running: make(chan struct{})}
	dispatch := ctrlreconcile.TypedFunc[object.ID](func(ctx context.Context, id object.ID) (ctrl.Result, error) {
		if m := e.member(id.GroupKind()); m != nil && of(m) != nil {
			return of(m).Reconcile(ctx, id)
		}
		return ctrl.Result{}, nil
	})
	begin := func() []object.ID {
		close(p.running)
		return nil
	}
	return p, e.run(name, workers, dispatch, &p.queue, func(context.Context) bool { return true }, begin)
}

// join has a queue pass objects on to the pool ([reconcile.Queue.Join]), once pool.running is
// closed and the caches of a kind are filled. join begins with all objects of the kind.
func (p *pool) join(
	mgr manager.Manager, q *reconcile.Queue, synced func(context.Context) bool, begin func() []object.ID,
) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-p.running:
		}
		if !synced(ctx) {
			return nil // The manager stops.
		}
		q.Join(&p.queue)
		for _, id := range begin() {
			q.Add(id)
		}
		return nil
	}))
}
