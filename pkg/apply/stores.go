package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// byParent is the index of objects by the uid of their parent.
const byParent = "parent"

// Kind is a kind of composed objects.
type Kind struct {
	schema.GroupKind

	// Example is an empty object of the type that the cache holds: a Go type such as
	// *appsv1.Deployment, an Unstructured, or a PartialObjectMetadata.
	Example client.Object
	// Indexers are added to the informer, for Stores.Select. Indexers may be nil.
	Indexers toolscache.Indexers
	// Differs reports whether an update concerns the parent although [Observed] has not changed,
	// such as a Deployment whose condition Available became True. Differs may be nil.
	Differs func(before, after client.Object) bool
}

// Stores is a View of informers. An event of an object wakes the parent of the object (ParentOf),
// and every parent that waits for the object (Waiters.WaitFor). Stores is safe for concurrent use.
type Stores struct {
	// Parent is the kind of the parents.
	Parent schema.GroupKind
	// Queue is the Controller.Queue of the parents.
	Queue *reconcile.Queue
	// Applier is told which objects were deleted.
	Applier *Applier

	Waiters

	added locked.Map[schema.GroupKind, added]
}

// added is a kind of Stores.Add.
type added struct {
	store  toolscache.Indexer
	synced toolscache.InformerSynced
}

// Add starts to watch kinds with a cache, for example the cache of manager.GetCache.
func (s *Stores) Add(ctx context.Context, c cache.Cache, kinds ...Kind) error {
	for _, kind := range kinds {
		store, err := watch.Open(ctx, c, kind.GroupKind, kind.Example)
		if err != nil {
			return err
		}
		indexers := toolscache.Indexers{byParent: s.indexParent}
		maps.Copy(indexers, kind.Indexers)
		if err := store.AddIndexers(indexers); err != nil {
			return fmt.Errorf("watch %s: %w", kind.GroupKind, err)
		}
		synced, err := store.Listen(watch.Handler(func(e watch.Change[client.Object]) { s.handle(kind, e) }))
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.GroupKind, err)
		}
		s.added.Store(kind.GroupKind, added{store.GetIndexer(), synced})
	}
	return nil
}

// Heard waits until the initial list of every kind is complete, and reports whether the list
// completed before the context ended. See reconcile.Controller.
func (s *Stores) Heard(ctx context.Context) bool {
	var synced []toolscache.InformerSynced
	for _, kind := range s.added.All() {
		synced = append(synced, kind.synced)
	}
	return toolscache.WaitForCacheSync(ctx.Done(), synced...)
}

// indexer returns the store of a kind, or nil without a Stores.Add of the kind.
func (s *Stores) indexer(gk schema.GroupKind) toolscache.Indexer {
	return s.added.Get(gk).store
}

// Object returns an object as the cache shows it, or nil. The object belongs to the cache: the
// caller MUST NOT change the object.
func (s *Stores) Object(id object.ID) client.Object {
	store := s.indexer(id.GroupKind())
	if store == nil {
		return nil
	}
	found, exists, err := store.GetByKey(id.NamespacedName().String())
	if err != nil || !exists {
		return nil
	}
	return found.(client.Object)
}

// Get implements View. Without a Stores.Add of the kind, Get shows no object, and the Applier finds
// the object by a live read.
func (s *Stores) Get(id object.ID, fieldOwner string) (Observed, bool) {
	obj := s.Object(id)
	if obj == nil {
		return Observed{}, false
	}
	return Observe(obj, fieldOwner), true
}

// Select returns the objects of a kind that an index of Kind.Indexers finds. The objects belong to the cache.
func (s *Stores) Select(gk schema.GroupKind, index, value string) []client.Object {
	store := s.indexer(gk)
	if store == nil {
		return nil
	}
	found, err := store.ByIndex(index, value)
	if err != nil {
		return nil
	}
	all := make([]client.Object, 0, len(found))
	for _, f := range found {
		all = append(all, f.(client.Object))
	}
	slices.SortFunc(all, func(a, b client.Object) int { return object.Compare(object.Of(a, gk), object.Of(b, gk)) })
	return all
}

// ComposedOf returns the objects of a kind whose parent has a uid, in the order of their names.
func (s *Stores) ComposedOf(parent types.UID, gk schema.GroupKind) []client.Object {
	return s.Select(gk, byParent, string(parent))
}

// handle wakes the parents that an event concerns (ParentOf, Waiters.WaitFor).
func (s *Stores) handle(kind Kind, e watch.Change[client.Object]) {
	if e.Deleted() {
		s.Applier.Gone(object.Of(e.Old, kind.GroupKind), e.Old.GetUID())
	}
	if !e.Created() && !e.Deleted() && isSame(e.Old, e.New) && (kind.Differs == nil || !kind.Differs(e.Old, e.New)) {
		return
	}
	for _, obj := range []client.Object{e.Old, e.New} {
		if obj == nil {
			continue
		}
		if parent, _, ok := ParentOf(obj, s.Parent); ok {
			s.Queue.Add(parent)
		}
		for _, parent := range s.WaitingFor(object.Of(obj, kind.GroupKind)) {
			s.Queue.Add(parent)
		}
	}
}

func (s *Stores) indexParent(obj any) ([]string, error) {
	if o, ok := obj.(metav1.Object); ok {
		if _, uid, ok := ParentOf(o, s.Parent); ok {
			return []string{string(uid)}, nil
		}
	}
	return nil, nil
}

// isSame reports whether two versions of an object have the same Observed for every field owner.
func isSame(before, after client.Object) bool {
	a, b := Observe(before, ""), Observe(after, "")
	a.Version, b.Version = "", ""
	return a == b && slices.Equal(marks(before), marks(after))
}

func marks(obj metav1.Object) []string {
	var all []string
	for _, f := range obj.GetManagedFields() {
		if IsOwn(f, f.Manager) {
			all = append(all, f.Manager, mark(f))
		}
	}
	return all
}
