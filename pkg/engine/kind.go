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

// Kind is a kind of objects that an [Engine] watches. Only [Kind.GVK] is required.
type Kind struct {
	GVK schema.GroupVersionKind
	// ClusterScoped says that objects of the kind have no metadata.namespace.
	ClusterScoped bool
	// Example is an empty object of the Go type to read the objects into. Nil means
	// unstructured.Unstructured for a kind with Ready, Relations or Work, and
	// PartialObjectMetadata for every other kind. With PartialObjectMetadata, another
	// resourceVersion means another content.
	Example client.Object
	// Relations are the references in the objects. [Refs.Waits] names the targets in this
	// order.
	Relations []relation.Relation
	// Finalizer is the finalizer of the kind's own [Kind.Reconciler]. The guard controller of the kind
	// never removes Finalizer.
	Finalizer string
	// Ready reports whether other objects can use an object, and returns the value of a
	// reference to the object, such as the ID of a cloud resource. Nil means that an object is
	// ready once it exists.
	Ready func(client.Object) (id string, ready bool)
	// Declares returns edges of an object in addition to the edges of Relations. obj is nil for
	// a deleted object. Declares MUST NOT block, and MUST NOT call the [Engine]. Declares may be
	// nil.
	Declares func(id object.ID, obj client.Object, edges []relation.Edge) []relation.Edge
	// Observe is called with each change of an object before the [Engine] requeues any object for
	// the change. Observe MUST NOT block. Observe may be nil.
	Observe func(id object.ID, c watch.Change[client.Object])
	// Concerns reports whether a change of an object requeues the object. Kind.Writes has left
	// out the reconciler's own writes before. Nil means every such change.
	Concerns func(old, now client.Object) bool
	// Composed reports whether a change of an object of [Options.Watcher] requeues an object that controls it,
	// refers to it, or refers to its controller. Composed MUST NOT block. Nil means every such change.
	Composed func(id object.ID, c relation.Change) bool
	// Writes records the reconciler's own writes ([reconcile.Writes.Concerns]).
	Writes *reconcile.Writes
	// Reconciler works on the objects.
	Reconciler ctrlreconcile.TypedReconciler[object.ID]
	// Workers is MaxConcurrentReconciles of Kind.Reconciler. Zero means one worker.
	Workers int
	// Work is for kinds without [Kind.Reconciler]: the [Engine] calls Work for an object with resolved
	// references.
	Work func(ctx context.Context, w *Work) reconcile.Outcome
	// Store, if set, has the objects. The owner of the Store calls [Engine.Observe] for each
	// change, and the [Engine] opens no informer for the kind.
	Store toolscache.Store
}

// member is a [Kind] of an [Engine], with its cache, queues and guard controller.
type member struct {
	Kind

	cache     atomic.Pointer[objects] // nil while the API server does not serve the kind
	queue     reconcile.Queue
	finalizer *guard.Finalizers
	released  reconcile.Queue // objects that may lose a finalizer
	// controlled says that Engine.control has added the controllers to the manager.
	controlled bool
	// definition is the name of the CustomResourceDefinition, once the informer was open.
	definition string
}

// objects is the cache of a kind that the API server serves.
type objects struct {
	store  toolscache.Store
	synced toolscache.InformerSynced
}

func (m *member) gk() schema.GroupKind { return m.GVK.GroupKind() }

// get returns an object from the cache, or nil. The object belongs to the cache.
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

// storeKey returns the key that toolscache.MetaNamespaceKeyFunc returns for the object.
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

// ids returns the [object.ID] of each object of the cache, in the order of [object.Compare].
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

// isGuarded reports whether an object has a finalizer that the guard controller may remove.
func (m *member) isGuarded(obj client.Object) bool {
	return m.finalizer != nil && slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool {
		return slices.Contains(m.finalizer.Names, f)
	})
}

// metadataOf returns an empty PartialObjectMetadata of a kind.
func metadataOf(gvk schema.GroupVersionKind) client.Object {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	return obj
}
