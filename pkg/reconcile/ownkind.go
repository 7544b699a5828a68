package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// OwnKind is the kind whose objects a reconciler works on. OwnKind provides [Pass.Read],
// [Controller.Heard] and [Controller.All], and adds to [Queue] each object with an event that
// [Writes.Concerns] accepts.
type OwnKind struct {
	watch.Store

	Kind   schema.GroupKind
	Queue  Queue
	Writes Writes

	synced toolscache.InformerSynced
}

// WatchOwn watches the kind of example with a cache.
func WatchOwn(ctx context.Context, c cache.Cache, gk schema.GroupKind, example client.Object) (*OwnKind, error) {
	store, err := watch.Open(ctx, c, gk, example)
	if err != nil {
		return nil, err
	}
	k := &OwnKind{Store: store, Kind: gk}
	if k.synced, err = store.Listen(watch.Handler(k.handle)); err != nil {
		return nil, fmt.Errorf("watch %s: %w", gk, err)
	}
	return k, nil
}

func (k *OwnKind) handle(c watch.Change[client.Object]) {
	if id := object.Of(c.Object(), k.Kind); k.Writes.Concerns(id, c.Old, c.New) {
		k.Queue.Add(id)
	}
}

// Read returns an object from the informer's store, or nil. The object belongs to the store:
// [Pass.Begin] copies the object.
func (k *OwnKind) Read(_ context.Context, id object.ID) (client.Object, error) {
	found, exists, err := k.GetStore().GetByKey(id.NamespacedName().String())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	if !exists {
		return nil, nil
	}
	return found.(client.Object), nil
}

// Heard calls WaitForCacheSync for the informer, and returns false if the context ended before.
func (k *OwnKind) Heard(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), k.synced)
}

// All returns the [object.ID] of every object.
func (k *OwnKind) All() []object.ID { return k.ids(k.GetStore().List()) }

// In returns the [object.ID] of every object in a namespace.
func (k *OwnKind) In(namespace string) []object.ID {
	found, err := k.GetIndexer().ByIndex(toolscache.NamespaceIndex, namespace)
	if err != nil {
		return nil // Every cache of controller-runtime has this index.
	}
	return k.ids(found)
}

func (k *OwnKind) ids(all []any) []object.ID {
	ids := make([]object.ID, 0, len(all))
	for _, obj := range all {
		ids = append(ids, object.Of(obj.(client.Object), k.Kind))
	}
	return ids
}
