package relation

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kinship-dev/kinship/pkg/object"
)

// watched is a kind in use. Its fields are guarded by Watcher.mu.
type watched struct {
	gk      schema.GroupKind
	users   int // who needs it; Watcher.uses says who
	mapping Mapping
	problem error
	cancel  context.CancelFunc // nil when no informer runs
	synced  bool
	store   cache.Store
}

func newWatched(gk schema.GroupKind) *watched {
	return &watched{gk: gk}
}

func (k *watched) stop() {
	if k.cancel != nil {
		k.cancel()
	}
}

func get(store cache.Store, id object.ID) (Object, bool) {
	key := id.Name
	if id.Namespace != "" {
		key = id.Namespace + "/" + id.Name
	}
	item, exists, err := store.GetByKey(key)
	if err != nil || !exists { // A thread-safe store never returns an error.
		return Object{}, false
	}
	return ObjectOf(id.GroupKind(), item.(*metav1.PartialObjectMetadata)), true
}

func list(store cache.Store, ref Ref) []Object {
	var found []Object
	for _, item := range store.List() {
		if obj := ObjectOf(ref.GroupKind(), item.(*metav1.PartialObjectMetadata)); ref.Matches(obj) {
			found = append(found, obj)
		}
	}
	return found
}

// run starts the informer of a kind.
func (w *Watcher) run(ctx context.Context, k *watched, mapping Mapping, running *sync.WaitGroup) {
	informer := metadatainformer.NewFilteredMetadataInformer(
		w.metadata, mapping.Resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	informerCtx, cancel := context.WithCancel(ctx)
	registration, err := w.prepare(informer, k)
	if err != nil { // Only a stopped informer refuses, and this one has not begun.
		cancel()
		w.log.Error(err, "Kind not watched", "kind", k.gk.String())
		return
	}
	w.mu.Lock()
	k.mapping, k.cancel, k.store, k.problem = mapping, cancel, informer.GetStore(), nil
	w.mu.Unlock()
	running.Go(func() { informer.RunWithContext(informerCtx) })
	running.Go(func() {
		if !cache.WaitFor(informerCtx, "", registration.HasSyncedChecker()) {
			return
		}
		w.mu.Lock()
		current := k.cancel != nil && k.store == informer.GetStore()
		if current {
			k.synced, k.problem = true, nil
		}
		w.mu.Unlock()
		if current {
			w.tellKind(k.gk)
		}
	})
}

func (w *Watcher) prepare(
	informer cache.SharedIndexInformer, k *watched,
) (cache.ResourceEventHandlerRegistration, error) {
	if err := informer.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.watchFailed(k, err)
	})
	if err != nil {
		return nil, fmt.Errorf("set error handler: %w", err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.tellObject(Change{New: k.object(obj)}) },
		UpdateFunc: func(old, obj any) { w.tellObject(Change{Old: k.object(old), New: k.object(obj)}) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			w.tellObject(Change{Old: k.object(obj)})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("add event handler: %w", err)
	}
	return registration, nil
}

// watchFailed keeps the reason for conditions and logs it once, however often
// the reflector tries again.
func (w *Watcher) watchFailed(k *watched, err error) {
	w.mu.Lock()
	news := !k.synced && (k.problem == nil || k.problem.Error() != err.Error())
	if news {
		k.problem = err
	}
	w.mu.Unlock()
	if news {
		w.log.Info("Kind can't be read yet", "kind", k.gk.String(), "reason", err.Error())
		w.tellKind(k.gk)
	}
}

func (k *watched) object(obj any) *Object {
	o := ObjectOf(k.gk, obj.(*metav1.PartialObjectMetadata))
	return &o
}

// strip drops what relations never ask for. In a large cluster it is most of
// what would be held in memory.
func strip(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.TypeMeta = metav1.TypeMeta{}
		m.ManagedFields = nil
		m.Annotations = nil
		m.Finalizers = nil
		m.GenerateName = ""
		m.Namespace = object.Share(m.Namespace)
		m.Labels = object.ShareMap(m.Labels)
		for i := range m.OwnerReferences {
			o := &m.OwnerReferences[i]
			o.APIVersion, o.Kind = object.Share(o.APIVersion), object.Share(o.Kind)
		}
	}
	return obj, nil
}
