package relation

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// watched is a kind in use. Its fields are guarded by Watcher.mu.
type watched struct {
	gk      schema.GroupKind
	users   int       // who needs it; Watcher.uses says who
	unused  time.Time // since when there is none
	mapping watch.Mapping
	problem error
	cancel  context.CancelFunc // nil when no informer runs
	synced  bool
	store   *stores
}

func newWatched(gk schema.GroupKind) *watched {
	return &watched{gk: gk}
}

// lingers reports whether a kind is kept though nobody needs it now. There is nothing to
// keep of one that is not watched.
func (k *watched) lingers() bool {
	return k.users == 0 && k.cancel != nil && time.Since(k.unused) < linger
}

// stores hold the objects of a kind, one for each namespace or one for all.
type stores []cache.Store

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
			return item.(*held).object, true
		}
	}
	return Object{}, false
}

func list(all *stores, ref Ref) []Object {
	var found []Object
	for _, store := range *all {
		for _, item := range store.List() {
			if obj := &item.(*held).object; ref.Matches(*obj) {
				found = append(found, *obj)
			}
		}
	}
	return found
}

// run starts the informers of a kind.
func (w *Watcher) run(ctx context.Context, k *watched, mapping watch.Mapping, running *sync.WaitGroup) {
	namespaces := w.Namespaces(mapping)
	informers := make([]cache.SharedIndexInformer, 0, len(namespaces))
	read := make([]cache.DoneChecker, 0, len(namespaces))
	all := &stores{}
	informerCtx, cancel := context.WithCancel(ctx)
	for _, namespace := range namespaces {
		informer := metadatainformer.NewFilteredMetadataInformer(
			w.metadata, mapping.Resource, namespace, 0, cache.Indexers{}, nil).Informer()
		registration, err := w.prepare(informer, k)
		if err != nil { // Only a stopped informer refuses, and this one has not begun.
			cancel()
			w.log.Error(err, "Kind not watched", "kind", k.gk.String())
			return
		}
		informers, read = append(informers, informer), append(read, registration.HasSyncedChecker())
		*all = append(*all, informer.GetStore())
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

func (w *Watcher) prepare(
	informer cache.SharedIndexInformer, k *watched,
) (cache.ResourceEventHandlerRegistration, error) {
	if err := informer.SetTransform(k.hold); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.watchFailed(k, err)
	})
	if err != nil {
		return nil, fmt.Errorf("set error handler: %w", err)
	}
	registration, err := informer.AddEventHandler(watch.Handler(func(c watch.Change[metav1.Object]) {
		w.tellObject(Change{Old: seen(c.Old), New: seen(c.New), Told: c.Went() && !c.Missed})
	}))
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
	doubtful := k.synced && (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err))
	w.mu.Unlock()
	if doubtful { // It is served no more, whatever the API server lists.
		w.doubt(50 * time.Millisecond)
	}
	if news {
		w.log.Info("Kind can't be read yet", "kind", k.gk.String(), "reason", err.Error())
		w.tellKind(k.gk)
	}
}

// held is what is kept of an object: what relations ask for. In a large cluster the rest
// would be most of what is held in memory. A store asks what is in it for name, namespace
// and version, and for nothing else of a metav1.Object, which is nil. Only the detector that
// client-go's own tests switch on, by KUBE_WATCHLIST_INCONSISTENCY_DETECTOR, asks for more.
type held struct {
	metav1.Object

	object Object
}

func (h *held) GetNamespace() string       { return h.object.ID.Namespace }
func (h *held) GetName() string            { return h.object.ID.Name }
func (h *held) GetResourceVersion() string { return h.object.Version }

// hold makes of an object what is kept of it.
func (k *watched) hold(obj any) (any, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil // It is one already, or was missed when it was deleted.
	}
	h := &held{object: ObjectOf(k.gk, m)}
	h.object.ID.Namespace = object.Share(m.Namespace)
	h.object.Labels = object.ShareMap(m.Labels)
	return h, nil
}

// seen returns a copy of what is held. Its labels are shared and must not be changed.
func seen(obj metav1.Object) *Object {
	if obj == nil {
		return nil
	}
	o := obj.(*held).object
	return &o
}
