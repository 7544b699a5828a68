package relation

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// watched is a kind in use. Watcher.mu guards its fields.
type watched struct {
	gk      schema.GroupKind
	users   int       // number of users; Watcher.uses has their IDs
	unused  time.Time // the time since when users is 0
	mapping watch.Mapping
	problem error
	cancel  context.CancelFunc // nil when no informer runs
	synced  bool
	store   *stores
}

func newWatched(gk schema.GroupKind) *watched {
	return &watched{gk: gk}
}

// lingers reports whether the informer of an unused kind still runs, because [Watcher.Use]
// dropped the last user less than linger ago.
func (k *watched) lingers() bool {
	return k.users == 0 && k.cancel != nil && time.Since(k.unused) < linger
}

// stores are the stores of a kind: one for each namespace, or one for all namespaces.
type stores []cache.Indexer

// byNamespace finds the objects of a namespace in a store: a selector of one tenant does not read the objects of
// all others.
var byNamespace = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

// size returns how many objects the stores hold.
func (s *stores) size() int {
	n := 0
	for _, store := range *s {
		n += len(store.ListKeys())
	}
	return n
}

func get(all *stores, id object.ID) (Object, bool) {
	key := id.Name
	if id.Namespace != "" {
		key = id.Namespace + "/" + id.Name
	}
	for _, store := range *all {
		item, exists, err := store.GetByKey(key)
		if err == nil && exists { // A thread-safe store never returns an error.
			return item.(*projection).object, true
		}
	}
	return Object{}, false
}

func list(all *stores, ref Ref) []Object {
	var found []Object
	for obj := range selected(all, ref) {
		found = append(found, *obj)
	}
	return found
}

// selected yields the objects of some stores that a [Ref] stands for.
func selected(all *stores, ref Ref) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, store := range *all {
			for _, item := range in(store, ref.Namespace) {
				if obj := &item.(*projection).object; ref.Matches(*obj) && !yield(obj) {
					return
				}
			}
		}
	}
}

// in returns the objects of a store in a namespace, or all objects if the namespace is empty.
func in(store cache.Indexer, namespace string) []any {
	if namespace == "" {
		return store.List()
	}
	items, err := store.ByIndex(cache.NamespaceIndex, namespace)
	if err != nil { // Only a store without byNamespace answers an error.
		return store.List()
	}
	return items
}

// run starts the informers of a kind.
func (w *Watcher) run(ctx context.Context, k *watched, mapping watch.Mapping, running *sync.WaitGroup) {
	namespaces := w.Namespaces(mapping)
	informers := make([]cache.SharedIndexInformer, 0, len(namespaces))
	read := make([]cache.DoneChecker, 0, len(namespaces))
	all := &stores{}
	informerCtx, cancel := context.WithCancel(ctx)
	for _, namespace := range namespaces {
		informer := w.informer(mapping.Resource, namespace)
		registration, err := w.prepare(informer, k)
		if err != nil { // Only a stopped informer returns an error, and this informer has not started.
			cancel()
			w.log.Error(err, "Kind not watched", "kind", k.gk.String())
			return
		}
		informers, read = append(informers, informer), append(read, registration.HasSyncedChecker())
		*all = append(*all, informer.GetIndexer())
	}
	w.mu.Lock()
	k.mapping, k.cancel, k.store, k.problem = mapping, cancel, all, nil
	w.reading.begin(time.Now())
	w.mu.Unlock()
	for _, informer := range informers {
		running.Go(func() { informer.RunWithContext(informerCtx) })
	}
	running.Go(func() {
		if !cache.WaitFor(informerCtx, "", read...) {
			return
		}
		w.mu.Lock()
		current := k.cancel != nil && k.store == all
		if current {
			k.synced, k.problem = true, nil
			w.reading.end(time.Now(), true)
		}
		w.mu.Unlock()
		if current {
			w.tellKind(k.gk)
		}
	})
}

// informer returns the informer of a kind in a namespace: of metadata, or of whole objects with
// [Watcher.Keep].
func (w *Watcher) informer(resource schema.GroupVersionResource, namespace string) cache.SharedIndexInformer {
	if w.keep == nil {
		return metadatainformer.NewFilteredMetadataInformer(
			w.metadata, resource, namespace, 0, byNamespace, nil).Informer()
	}
	return dynamicinformer.NewFilteredDynamicInformer(
		w.dynamic, resource, namespace, 0, byNamespace, nil).Informer()
}

func (w *Watcher) prepare(
	informer cache.SharedIndexInformer, k *watched,
) (cache.ResourceEventHandlerRegistration, error) {
	if err := informer.SetTransform(func(obj any) (any, error) { return w.project(k.gk, obj) }); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.watchFailed(k, err)
	})
	if err != nil {
		return nil, fmt.Errorf("set error handler: %w", err)
	}
	registration, err := informer.AddEventHandler(watch.Handler(func(c watch.Change[metav1.Object]) {
		w.tellObject(Change{Old: seen(c.Old), New: seen(c.New), Told: c.Deleted() && !c.Missed})
	}))
	if err != nil {
		return nil, fmt.Errorf("add event handler: %w", err)
	}
	return registration, nil
}

// watchFailed keeps the error for [Watcher.Problem] and logs the error once, however often the
// reflector tries again.
func (w *Watcher) watchFailed(k *watched, err error) {
	w.mu.Lock()
	news := !k.synced && (k.problem == nil || k.problem.Error() != err.Error())
	if news {
		k.problem = err
	}
	doubtful := k.synced && (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err))
	w.mu.Unlock()
	if doubtful { // The API server no longer serves the kind, whatever its discovery says.
		w.doubt(50 * time.Millisecond)
	}
	if news {
		w.log.Info("Kind can't be read yet", "kind", k.gk.String(), "reason", err.Error())
		w.tellKind(k.gk)
	}
}

// projection is the part of an object that a store keeps: the fields of [Object]. In a large
// cluster the rest of the metadata would be most of the memory. A store calls only
// GetNamespace, GetName and GetResourceVersion, so the embedded metav1.Object may be nil. The
// detector that client-go's own tests switch on (KUBE_WATCHLIST_INCONSISTENCY_DETECTOR) calls
// more and would panic.
type projection struct {
	metav1.Object

	object Object
}

func (p *projection) GetNamespace() string       { return p.object.ID.Namespace }
func (p *projection) GetName() string            { return p.object.ID.Name }
func (p *projection) GetResourceVersion() string { return p.object.Version }

// project is the cache.TransformFunc of an informer: project returns the projection of an
// object.
func (w *Watcher) project(gk schema.GroupKind, obj any) (any, error) {
	var m metav1.Object
	switch o := obj.(type) {
	case *metav1.PartialObjectMetadata:
		m = o
	case *unstructured.Unstructured:
		m = o
	default:
		return obj, nil // obj is a projection already.
	}
	p := &projection{object: ObjectOf(gk, m)}
	p.object.ID.Namespace = object.Share(m.GetNamespace())
	p.object.Labels = object.ShareMap(m.GetLabels())
	if whole, ok := obj.(*unstructured.Unstructured); ok && w.keep != nil {
		p.object.Content = w.keep(whole)
	}
	return p, nil
}

// seen returns a copy of the [Object] in a projection. The labels are shared and must not be
// changed.
func seen(obj metav1.Object) *Object {
	if obj == nil {
		return nil
	}
	o := obj.(*projection).object
	return &o
}
