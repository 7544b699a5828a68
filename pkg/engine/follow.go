package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
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
	_, err = informer.Listen(watch.Handler(func(c watch.Change[client.Object]) {
		e.observeDefinition(c)
		select {
		case installed <- struct{}{}:
		default: // A call of openSoon is pending already.
		}
	}))
	if err != nil {
		return fmt.Errorf("watch definitions: %w", err)
	}
	defined := informer.GetStore().ListKeys
	return e.mgr.Add(reconcile.EveryReplica(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-installed:
				e.openSoon(ctx, defined)
			}
		}
	}))
}

// observeDefinition records the deletion of a CustomResourceDefinition. Without [Options.Discover], no kind is closed.
func (e *Engine) observeDefinition(c watch.Change[client.Object]) {
	if e.options.Discover == nil {
		return
	}
	name := c.Object().GetName()
	if c.Deleted() {
		e.undefined.Store(name, true)
		return
	}
	e.undefined.Delete(name)
}

// pauses are those of openSoon.
var pauses = []time.Duration{
	0, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
	5 * time.Second,
}

// openSoon opens the kinds that were installed, and closes the kinds whose definition was deleted. A watch reports
// a CustomResourceDefinition before the discovery of the API server lists its kind, and a deletion before discovery
// drops the kind, so openSoon repeats openInstalled after pauses.
// After an error, openSoon goes on with the last pause: no other event would open the kinds. defined
// returns the names of the CustomResourceDefinitions.
func (e *Engine) openSoon(ctx context.Context, defined func() []string) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauses[min(i, len(pauses)-1)]):
		}
		missing, err := e.openInstalled(ctx, defined())
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Kinds that were installed can't be watched yet", "operator", e.options.Name)
		}
		if missing == 0 || (err == nil && i >= len(pauses)-1) {
			return
		}
	}
}

var _ manager.LeaderElectionRunnable = reconcile.EveryReplica(nil)

// openInstalled opens the kinds that the API server serves by now, closes the kinds whose
// definition was deleted, and returns the number of kinds for which discovery is late.
func (e *Engine) openInstalled(ctx context.Context, defined []string) (missing int, err error) {
	if len(e.unopened()) == 0 && e.options.Discover == nil {
		return 0, nil
	}
	if err := e.options.Catalog.Refresh(ctx); err != nil {
		return len(defined) + 1, err
	}
	if e.options.Discover != nil {
		if err := e.closeDeleted(ctx, defined); err != nil {
			return len(defined) + 1, err
		}
		e.discover()
		e.makeGuards()
		missing = e.undiscovered(defined) + e.undropped()
	}
	for _, m := range e.unopened() {
		if !e.isServed(m.gk()) {
			missing++
			continue
		}
		if err := e.open(ctx, m); err != nil {
			return missing + 1, err
		}
		if err := e.control(m); err != nil {
			return missing + 1, err
		}
		e.wakeSources(m.gk())
	}
	return missing, nil
}

// wakeSources requeues the objects that refer to objects of a kind. Their conditions have another message after the
// CustomResourceDefinition of the kind is created or deleted, and after the operator gets or loses the right to read
// the kind.
func (e *Engine) wakeSources(gk schema.GroupKind) {
	for _, target := range e.index.Targets(gk) {
		for _, edge := range e.index.Targeting(relation.Object{ID: target.ID}) {
			e.Requeue(edge.Declarer)
		}
	}
}

// unopened returns the kinds without an informer.
func (e *Engine) unopened() (all []*member) {
	for _, gk := range e.kinds() {
		if m := e.member(gk); m.cache.Load() == nil {
			all = append(all, m)
		}
	}
	return all
}

// discover calls [Options.Discover] for each kind that the [Engine] does not have, or has only in a version that
// the API server does not serve any more.
func (e *Engine) discover() {
	if e.options.Discover == nil {
		return
	}
	for _, k := range e.options.Catalog.Served() {
		m := e.member(k.GroupKind())
		if m == nil || (m.Store == nil && m.cache.Load() == nil && !e.isServed(m.gk())) {
			e.options.Discover(k.Mapping)
		}
	}
}

// undiscovered returns the number of CustomResourceDefinitions whose kinds [watch.Catalog] does not
// list yet.
func (e *Engine) undiscovered(defined []string) (missing int) {
	served := e.servedDefinitions()
	for _, name := range defined {
		if !served[name] {
			missing++
		}
	}
	return missing
}

// undropped returns the number of deleted CustomResourceDefinitions whose kinds [watch.Catalog] still lists, and
// forgets the other deleted ones: closeDeleted has closed their kinds.
func (e *Engine) undropped() int {
	served := e.servedDefinitions()
	e.undefined.DeleteFunc(func(name string, _ bool) bool { return !served[name] })
	return e.undefined.Len()
}

// servedDefinitions has the names that the CustomResourceDefinitions of all kinds of [watch.Catalog] would have.
func (e *Engine) servedDefinitions() map[string]bool {
	names := map[string]bool{}
	for _, k := range e.options.Catalog.Served() {
		names[k.Resource.GroupResource().String()] = true
	}
	return names
}

// closeDeleted closes the informers of kinds that the API server does not serve any more, because
// their CustomResourceDefinitions were deleted, or have other versions. Otherwise the informers would list in
// vain for ever.
func (e *Engine) closeDeleted(ctx context.Context, defined []string) error {
	exists := map[string]bool{}
	for _, name := range defined {
		exists[name] = true
	}
	for _, gk := range e.kinds() {
		m := e.member(gk)
		if m.Store != nil || m.cache.Load() == nil || e.isServed(gk) || m.definition == "" {
			continue
		}
		if _, otherwise := e.options.Catalog.Kind(gk); exists[m.definition] && !otherwise {
			continue // Discovery is late.
		}
		if err := e.mgr.GetCache().RemoveInformer(ctx, m.Example); err != nil {
			return fmt.Errorf("stop to watch %s: %w", m.GVK.Kind, err)
		}
		m.cache.Store(nil)
		if e.options.Health != nil {
			e.options.Health.Forget(gk)
		}
		e.wakeSources(gk)
	}
	return nil
}
