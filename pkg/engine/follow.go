package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/watch"
)

// definitionKind is the kind of CustomResourceDefinitions.
var definitionKind = schema.GroupVersionKind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
}

// follow opens the informer of a kind when its CustomResourceDefinition is installed. Without
// [Options.Catalog], follow does nothing.
func (e *Engine) follow(ctx context.Context) error {
	if e.options.Catalog == nil {
		return nil
	}
	installed := make(chan struct{}, 1)
	informer, err := watch.Open(ctx, e.mgr.GetCache(), definitionKind.GroupKind(), metadataOf(definitionKind))
	if err != nil {
		return err
	}
	_, err = informer.Listen(watch.Handler(func(watch.Change[client.Object]) {
		select {
		case installed <- struct{}{}:
		default: // A call of openSoon is pending already.
		}
	}))
	if err != nil {
		return fmt.Errorf("watch definitions: %w", err)
	}
	return e.mgr.Add(everywhere(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-installed:
				e.openSoon(ctx)
			}
		}
	}))
}

// pauses are those of openSoon.
var pauses = []time.Duration{0, 200 * time.Millisecond, time.Second, 5 * time.Second}

// openSoon opens the kinds that were installed. A watch reports a CustomResourceDefinition before
// the discovery of the API server lists its kind, so openSoon repeats openInstalled after pauses.
// After an error, openSoon goes on with the last pause: no other event would open the kinds.
func (e *Engine) openSoon(ctx context.Context) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauses[min(i, len(pauses)-1)]):
		}
		missing, err := e.openInstalled(ctx)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Kinds that were installed can't be watched yet", "operator", e.options.Name)
		}
		if missing == 0 || (err == nil && i >= len(pauses)-1) {
			return
		}
	}
}

// everywhere is a manager.Runnable that runs in every replica (NeedLeaderElection returns
// false): a replica that becomes leader later then has filled caches.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (r everywhere) Start(ctx context.Context) error { return r(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r everywhere) NeedLeaderElection() bool { return false }

var _ manager.LeaderElectionRunnable = everywhere(nil)

// openInstalled opens the kinds that the API server serves by now, and returns the number of
// kinds that are still missing.
func (e *Engine) openInstalled(ctx context.Context) (missing int, err error) {
	unopened := slices.DeleteFunc(e.kinds(), func(gk schema.GroupKind) bool { return e.members[gk].cache.Load() != nil })
	if len(unopened) == 0 {
		return 0, nil
	}
	if err := e.options.Catalog.Refresh(ctx); err != nil {
		return len(unopened), err
	}
	for _, gk := range unopened {
		if !e.isServed(gk) {
			missing++
			continue
		}
		if err := e.open(ctx, e.members[gk]); err != nil {
			return len(unopened), err
		}
	}
	return missing, nil
}
