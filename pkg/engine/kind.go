package engine

import (
	"context"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Kind is a kind of objects that an Engine watches. Only GVK is required.
type Kind struct {
	GVK schema.GroupVersionKind
	// ClusterScoped says that the objects have no namespace.
	ClusterScoped bool
	// Example is an empty object of the Go type to read the objects into. Nil means
	// unstructured.Unstructured for a kind with Ready, Relations or Work. Nil means metadata for
	// every other kind: the Engine then tells two contents apart by their resourceVersion.
	Example client.Object
	// Relations are the references in the objects. Waits name the targets in this order.
	Relations []relation.Relation
	// Finalizer is the one that the kind's own reconciler puts on the objects. The guard
	// controller of the kind never takes it off.
	Finalizer string
	// Ready reports whether an object can be referred to, and what a reference to the object
	// stands for, such as the id of a cloud resource. Nil means that an object is ready once it
	// exists.
	Ready func(client.Object) (id string, ready bool)
	// Declares returns edges of an object beside those of Relations. Obj is nil for an object
	// that is gone. Declares MUST NOT block, and MUST NOT call the Engine. It may be nil.
	Declares func(id object.ID, obj client.Object, edges []relation.Edge) []relation.Edge
	// Observe is called with each change of an object before any object is requeued for the
	// change. It MUST NOT block. It may be nil.
	Observe func(id object.ID, c watch.Change[client.Object])
	// Concerns reports whether a change of an object requeues the object, after Writes has left
	// out the reconciler's own writes. Nil means every such change.
	Concerns func(old, now client.Object) bool
	// Writes are the reconciler's own writes of the objects.
	Writes *reconcile.Writes
	// Reconciler works on the objects, with so many workers. Zero workers means one.
	Reconciler ctrlreconcile.TypedReconciler[object.ID]
	Workers    int
	// Work is for kinds without Reconciler: what is done for an object whose references are
	// resolved.
	Work func(ctx context.Context, w *Work) reconcile.Outcome
	// Store, if set, has the objects. Its owner calls [Engine.Observe] for each change, and the
	// Engine opens no informer for the kind.
	Store toolscache.Store
}

// member is a Kind of an Engine with what the Engine runs for it.
type member struct {
	Kind

	cache     atomic.Pointer[objects] // nil while the kind is not served
	queue     reconcile.Queue
	finalizer *guard.Finalizers
	released  reconcile.Queue // objects that a finalizer may be taken off
}

// objects are the objects of a kind that is served.
type objects struct {
	store  toolscache.Store
	synced toolscache.InformerSynced
}

func (m *member) gk() schema.GroupKind { return m.GVK.GroupKind() }

// get returns an object as the cache shows it, or nil. The object belongs to the cache.
func (m *member) get(id object.ID) client.Object {
	cache := m.cache.Load()
	if cache == nil {
		return nil
	}
	item, exists, err := cache.store.GetByKey(storeKey(id))
	if err != nil || !exists {
		return nil
	}
	return item.(client.Object)
}

// storeKey returns the key of an object as toolscache.MetaNamespaceKeyFunc does.
func storeKey(id object.ID) string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// list returns the objects of the cache in no particular order.
func (m *member) list() []client.Object {
	cache := m.cache.Load()
	if cache == nil {
		return nil
	}
	items := cache.store.List()
	all := make([]client.Object, 0, len(items))
	for _, item := range items {
		all = append(all, item.(client.Object))
	}
	return all
}

// ids returns the objects of the cache in a fixed order.
func (m *member) ids() []object.ID {
	all := m.list()
	ids := make([]object.ID, 0, len(all))
	for _, obj := range all {
		ids = append(ids, object.Of(obj, m.gk()))
	}
	slices.SortFunc(ids, object.Compare)
	return ids
}

func (m *member) ready(obj client.Object) (id string, ready bool) {
	if m.Ready == nil {
		return "", true
	}
	return m.Ready(obj)
}

// isGuarded reports whether an object has a finalizer that the guard controller may take off.
func (m *member) isGuarded(obj client.Object) bool {
	return m.finalizer != nil && slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool {
		return slices.Contains(m.finalizer.Names, f)
	})
}

// metadataOf returns an example of the metadata of a kind's objects.
func metadataOf(gvk schema.GroupVersionKind) client.Object {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	return obj
}
