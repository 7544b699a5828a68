package reconcile

import (
	"context"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Gate stops reconcilers while a guard is missing, such as the ValidatingWebhookConfiguration
// that validates the specs of their objects. A request that arrives at a closed Gate is
// reconciled after [Gate.Open]. A Gate is safe for concurrent use. The zero value is open.
type Gate struct {
	// closed is nil while the gate is open. [Gate.Open] closes the channel, for which [Gate.Wait]
	// waits.
	closed atomic.Pointer[chan struct{}]
}

// Close makes [Gate.Wait] block: every pass that has not begun waits.
func (g *Gate) Close() {
	closed := make(chan struct{})
	g.closed.CompareAndSwap(nil, &closed)
}

// Open makes every [Gate.Wait] return.
func (g *Gate) Open() {
	if closed := g.closed.Swap(nil); closed != nil {
		close(*closed)
	}
}

// Wait returns nil when the gate is open, or ctx.Err() when ctx ends.
func (g *Gate) Wait(ctx context.Context) error {
	for {
		closed := g.closed.Load()
		if closed == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-*closed: // It may have been closed again since.
		}
	}
}

// Gated is a manager with a [Gate] for its reconcilers.
type Gated interface {
	Gate() *Gate
}

// Behind returns a reconciler that begins no pass while the [Gate] of the manager is closed. If
// the manager is not [Gated], Behind returns r.
func Behind[R comparable](mgr manager.Manager, r reconcile.TypedReconciler[R]) reconcile.TypedReconciler[R] {
	gated, ok := mgr.(Gated)
	if !ok {
		return r
	}
	gate := gated.Gate()
	return reconcile.TypedFunc[R](func(ctx context.Context, request R) (reconcile.Result, error) {
		if err := gate.Wait(ctx); err != nil {
			return reconcile.Result{}, err
		}
		return r.Reconcile(ctx, request)
	})
}
