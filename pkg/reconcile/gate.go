package reconcile

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Gate stops reconcilers while a guard is missing, such as the ValidatingWebhookConfiguration
// that validates the specs of their objects. A request that arrives at a closed Gate is
// reconciled after [Gate.Open]. A Gate is safe for concurrent use. The zero value is open.
type Gate struct {
	mu     sync.Mutex
	closed chan struct{} // closed by Open; nil while the gate is open
}

// Close makes [Gate.Wait] block: every pass that has not begun waits.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// Open makes every [Gate.Wait] return.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// Wait returns nil when the gate is open, or ctx.Err() when ctx ends.
func (g *Gate) Wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		closed := g.closed
		g.mu.Unlock()
		if closed == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-closed: // It may have been closed again since.
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
