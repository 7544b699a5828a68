package relation

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Presence is what the [Watcher] knows about the existence of an object.
type Presence int

const (
	// Unknown means that the kind is not watched, or that its first LIST is not complete.
	Unknown Presence = iota
	// Absent means that the store has no such object. The object may have been created since:
	// confirm with [Watcher.Live] before you release a lock or a finalizer.
	Absent
	// Present means that the store has the object.
	Present
)

// Kinds whose objects add kinds to the API server, and remove them.
var (
	// DefinitionKind is the kind that defines custom resources.
	DefinitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	// apiServiceKind registers API groups that other API servers serve.
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// watcherItself is the user of DefinitionKind and apiServiceKind in [Watcher.Use].
var watcherItself = object.ID{Kind: "Watcher"}

const (
	// linger keeps an informer for a while after its last user, so that a kind whose users
	// change often is not listed again each time.
	linger = 5 * time.Second
	// discoveryLag is how long after the change of a CustomResourceDefinition the discovery of
	// the API server may still be out of date.
	discoveryLag = time.Second
	// discoveryPatience is how long after doubted the [Watcher] repeats the discovery of a kind
	// that is missing, or whose API group does not answer.
	discoveryPatience = 10 * time.Second
	// silentRetry is the interval of discovery for a group in use that does not answer: its API
	// server may return without any event.
	silentRetry = 30 * time.Second
)

// Change is one object that was created (Old is nil), changed, or deleted (New is nil).
type Change struct {
	Old, New *Object
	// Told says that the API server reported the deletion by a DELETED event. If Told is false,
	// the object was missing in a new LIST.
	Told bool
}

// Object returns the newest state.
func (c Change) Object() Object {
	if c.New != nil {
		return *c.New
	}
	return *c.Old
}

// Watcher watches the metadata of the kinds in use. Create a Watcher with [NewWatcher],
// register callbacks with OnObject and OnKind, then run Start. Watcher is safe for concurrent
// use.
type Watcher struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
	catalog  *watch.Catalog
	schemas  *Schemas
	// keep is the function of [Watcher.Keep], or nil.
	keep  func(*unstructured.Unstructured) client.Object
	log   logr.Logger
	queue workqueue.TypedDelayingInterface[schema.GroupKind]

	onObject []func(Change)
	onKind   []func(schema.GroupKind)

	mu    sync.RWMutex
	kinds map[schema.GroupKind]*watched
	uses  map[object.ID][]schema.GroupKind
	// latest are the kinds of the last call of [Watcher.Use]: thousands of users often use the
	// same kinds and share one slice.
	latest []schema.GroupKind
	// namespaces are the namespaces of [Watcher.In]. Empty means all.
	namespaces []string
	// doubted is the time since when the catalog may be out of date: a CustomResourceDefinition
	// or APIService changed, or a kind came into use that the catalog does not have.
	doubted time.Time
	reading reading
}

// NewWatcher returns a [Watcher] that reads through config.
func NewWatcher(config *rest.Config, log logr.Logger) (*Watcher, error) {
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make metadata client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make dynamic client: %w", err)
	}
	disc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	return &Watcher{
		metadata: meta,
		dynamic:  dyn,
		catalog:  watch.NewCatalog(disc, meta),
		schemas:  NewSchemas(disc.OpenAPIV3()),
		log:      log,
		queue:    workqueue.NewTypedDelayingQueue[schema.GroupKind](),
		kinds:    map[schema.GroupKind]*watched{},
		uses:     map[object.ID][]schema.GroupKind{},
	}, nil
}

// In limits the [Watcher] to objects in some namespaces and to cluster-scoped objects. Call In
// before Start.
func (w *Watcher) In(namespaces ...string) { w.namespaces = namespaces }

// Keep has the stores keep a part of each object, [Object.Content], such as its status. The informers
// then read whole objects, and not only their metadata. Call Keep before Start. part MUST return a
// new object or a part of its argument, quickly.
func (w *Watcher) Keep(part func(*unstructured.Unstructured) client.Object) { w.keep = part }

// Limited reports whether In limits the [Watcher] to some namespaces.
func (w *Watcher) Limited() bool { return len(w.namespaces) > 0 }

// Covers reports whether objects in a namespace are watched ([Watcher.In]).
func (w *Watcher) Covers(namespace string) bool {
	return len(w.namespaces) == 0 || namespace == "" || slices.Contains(w.namespaces, namespace)
}

// Namespaces returns the namespaces to list a kind in: each namespace of In, or only
// NamespaceAll.
func (w *Watcher) Namespaces(m watch.Mapping) []string {
	if len(w.namespaces) == 0 || !m.Namespaced {
		return []string{metav1.NamespaceAll}
	}
	return w.namespaces
}

// OnObject registers a callback for every change of an object of a kind in use. The callback is
// called in order per object and must not block. Call OnObject before Start.
func (w *Watcher) OnObject(f func(Change)) { w.onObject = append(w.onObject, f) }

// OnKind registers a callback for kinds that were installed, read or removed, or whose watch
// failed. Call OnKind before Start.
func (w *Watcher) OnKind(f func(schema.GroupKind)) { w.onKind = append(w.onKind, f) }

// Mapping implements [Kinds].
func (w *Watcher) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	return w.catalog.Mapping(gvk)
}

// Kind returns a kind in its preferred version.
func (w *Watcher) Kind(gk schema.GroupKind) (watch.Kind, bool) { return w.catalog.Kind(gk) }

// Served returns every kind that the cluster serves, in its preferred version, in order.
func (w *Watcher) Served() []watch.Kind { return w.catalog.Served() }

// Schemas returns the schemas of the kinds that the cluster serves.
func (w *Watcher) Schemas() *Schemas { return w.schemas }

// Silence returns the error of an API group that does not answer discovery. Silence returns nil
// for a group that answers, and for a group that does not exist. The catalog keeps the kinds of
// a silent group that were known before.
func (w *Watcher) Silence(group string) error { return w.catalog.Silence(group) }

// NeedLeaderElection returns false: every replica runs the [Watcher], because every replica
// answers admission requests.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Close releases a [Watcher] whose Start is not going to be called.
func (w *Watcher) Close() { w.queue.ShutDown() }

// Refresh reads from discovery which kinds the cluster serves ([watch.Catalog.Refresh]). Start
// calls Refresh too; call Refresh before Start if [Watcher.Mapping] must answer earlier.
func (w *Watcher) Refresh(ctx context.Context) error { return w.catalog.Refresh(ctx) }

// Start watches until ctx ends and then stops every informer.
func (w *Watcher) Start(ctx context.Context) error {
	defer w.queue.ShutDown() // The queue runs since NewWatcher.
	if err := w.catalog.Refresh(ctx); err != nil {
		return err
	}
	w.doubt(discoveryLag)
	w.Use(watcherItself, DefinitionKind, apiServiceKind)
	stop := context.AfterFunc(ctx, w.queue.ShutDown)
	defer stop()
	var running sync.WaitGroup
	for {
		gk, shutdown := w.queue.Get()
		if shutdown {
			break
		}
		if gk.Empty() {
			w.refreshKinds(ctx, &running)
		} else {
			w.updateInformer(ctx, gk, &running)
			if !w.certain(gk) { // Discovery was not repeated for this kind while it was unused.
				w.doubt(50 * time.Millisecond)
			}
		}
		w.queue.Done(gk)
	}
	running.Wait()
	return nil
}

// Use declares the kinds that a user (such as a Usage) needs watched, in place of the kinds of
// its last call. A kind may be there several times. No kinds means that the user needs no kind any
// more ([Watcher.Users]).
func (w *Watcher) Use(user object.ID, kinds ...schema.GroupKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.uses[user]
	for _, gk := range kinds {
		k := w.kinds[gk]
		if k == nil {
			k = newWatched(gk)
			w.kinds[gk] = k
			w.queue.Add(gk)
		}
		k.users++
	}
	for _, gk := range before {
		k := w.kinds[gk]
		k.users--
		if k.users == 0 {
			k.unused = time.Now()
			w.queue.AddAfter(gk, linger)
		}
	}
	switch {
	case len(kinds) == 0:
		delete(w.uses, user)
	case !slices.Equal(before, kinds):
		if !slices.Equal(w.latest, kinds) {
			w.latest = slices.Clone(kinds)
		}
		w.uses[user] = w.latest
	}
}

// Users returns the users that need a kind watched, in order.
func (w *Watcher) Users(gk schema.GroupKind) []object.ID {
	w.mu.RLock()
	defer w.mu.RUnlock()
	k := w.kinds[gk]
	if k == nil {
		return nil
	}
	users := make([]object.ID, 0, k.users)
	for user, kinds := range w.uses {
		if slices.Contains(kinds, gk) {
			users = append(users, user)
		}
	}
	slices.SortFunc(users, object.Compare)
	return users
}

// Get returns an object of a kind in use from its store.
func (w *Watcher) Get(id object.ID) (Object, Presence) {
	store := w.ready(id.GroupKind())
	if store == nil {
		return Object{ID: id}, Unknown
	}
	obj, exists := get(store, id)
	if !exists {
		return Object{ID: id}, Absent
	}
	return obj, Present
}

// Ready reports whether the first LIST of a kind is complete, so that Get and List know its objects.
func (w *Watcher) Ready(gk schema.GroupKind) bool { return w.ready(gk) != nil }

// List returns the objects that a [Ref] stands for from the store, in the order of
// [OlderFirst]. List returns false if the kind is not watched or its first list is not
// complete.
func (w *Watcher) List(ref Ref) ([]Object, bool) {
	store := w.ready(ref.GroupKind())
	if store == nil {
		return nil, false
	}
	if ref.Selector == nil {
		obj, exists := get(store, ref.ID)
		if !exists {
			return nil, true
		}
		return []Object{obj}, true
	}
	found := list(store, ref)
	slices.SortFunc(found, OlderFirst)
	return found, true
}

// Members implements [Existing].
func (w *Watcher) Members(ref Ref) (members iter.Seq[Object], known bool) {
	store := w.ready(ref.GroupKind())
	if store == nil {
		return func(func(Object) bool) {}, false
	}
	return func(yield func(Object) bool) {
		for obj := range selected(store, ref) {
			if !yield(*obj) {
				return
			}
		}
	}, true
}

// Problem returns why a kind in use can't be watched: the error of [Watcher.Mapping], or the
// error of the API server for LIST or WATCH. Problem returns nil for a kind without a known
// error.
func (w *Watcher) Problem(gk schema.GroupKind) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if k := w.kinds[gk]; k != nil {
		return k.problem
	}
	return nil
}

// Live reads the metadata of an object from the API server. The error wraps the error of the
// API server.
func (w *Watcher) Live(ctx context.Context, id object.ID) (Object, error) {
	m, err := w.catalog.Mapping(id.GroupKind().WithVersion(""))
	if err != nil {
		return Object{ID: id}, err
	}
	obj, err := w.metadata.Resource(m.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return Object{ID: id}, fmt.Errorf("read %s: %w", id, err)
	}
	return ObjectOf(id.GroupKind(), obj), nil
}

// livePage is the page size of liveAny.
const livePage = 500

// liveAny reports whether the API server has any object that ref stands for. ref must have a
// [Selector]. The error wraps the error of the API server.
func (w *Watcher) liveAny(ctx context.Context, ref Ref) (bool, error) {
	m, err := w.catalog.Mapping(ref.GroupKind().WithVersion(""))
	if err != nil {
		return false, err
	}
	selector, err := labels.ValidatedSelectorFromSet(ref.Selector.Labels)
	if err != nil {
		return false, nil //nolint:nilerr // no object can have such a label
	}
	namespaces := []string{ref.Namespace}
	if ref.Namespace == "" {
		namespaces = w.Namespaces(m)
	}
	for _, namespace := range namespaces {
		found, err := w.liveAnyIn(ctx, ref, m, namespace, selector.String())
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (w *Watcher) liveAnyIn(ctx context.Context, ref Ref, m watch.Mapping, namespace, selector string) (bool, error) {
	options := metav1.ListOptions{LabelSelector: selector, Limit: livePage}
	for {
		page, err := w.metadata.Resource(m.Resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", ref, err)
		}
		for i := range page.Items {
			if ref.Matches(ObjectOf(ref.GroupKind(), &page.Items[i])) {
				return true, nil
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return false, nil
		}
	}
}

// ready returns the stores of a kind whose first LIST is complete (synced), or nil.
func (w *Watcher) ready(gk schema.GroupKind) *stores {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if k := w.kinds[gk]; k != nil && k.synced {
		return k.store
	}
	return nil
}

// doubt sets doubted and schedules refreshKinds.
func (w *Watcher) doubt(soon time.Duration) {
	w.mu.Lock()
	w.doubted = time.Now()
	w.mu.Unlock()
	w.queue.AddAfter(schema.GroupKind{}, soon)
}

// refreshKinds runs discovery and updates the informer of every kind in use. refreshKinds
// schedules itself again while a kind is missing, a group is silent, or discoveryLag has not
// passed.
func (w *Watcher) refreshKinds(ctx context.Context, running *sync.WaitGroup) {
	begin := time.Now()
	err := w.catalog.Refresh(ctx)
	if err != nil {
		w.log.Error(err, "Kinds may be out of date")
	}
	missing, silent := false, err != nil
	w.mu.RLock()
	age := begin.Sub(w.doubted) // Negative if doubt was called after begin.
	inUse := make([]schema.GroupKind, 0, len(w.kinds))
	for gk, k := range w.kinds {
		if k.users > 0 { // An unused kind lingers.
			inUse = append(inUse, gk)
		}
	}
	w.mu.RUnlock()
	for _, gk := range inUse {
		w.updateInformer(ctx, gk, running)
		_, err := w.catalog.Mapping(gk.WithVersion(""))
		missing = missing || err != nil
		silent = silent || w.Silence(gk.Group) != nil
	}
	switch {
	case (missing || silent) && age < discoveryPatience:
		w.queue.AddAfter(schema.GroupKind{}, min(max(age, 50*time.Millisecond), 2*time.Second))
	case silent:
		w.queue.AddAfter(schema.GroupKind{}, silentRetry)
	case age < discoveryLag:
		w.queue.AddAfter(schema.GroupKind{}, discoveryLag-age)
	}
}

// certain reports whether the catalog has a kind and its API group answers.
func (w *Watcher) certain(gk schema.GroupKind) bool {
	_, err := w.Mapping(gk.WithVersion(""))
	return err == nil && w.Silence(gk.Group) == nil
}

// updateInformer starts, stops or restarts the informer of a kind: the kind may have become
// unused, been removed or got another Mapping.
func (w *Watcher) updateInformer(ctx context.Context, gk schema.GroupKind, running *sync.WaitGroup) {
	mapping, err := w.catalog.Mapping(gk.WithVersion(""))
	w.mu.Lock()
	k := w.kinds[gk]
	switch {
	case k == nil:
		w.mu.Unlock()
		return
	case k.lingers():
		w.queue.AddAfter(gk, linger-time.Since(k.unused))
		w.mu.Unlock()
		return
	case k.users == 0:
		delete(w.kinds, gk)
		w.stopReading(k)
		stop := k.cancel
		k.cancel = nil
		w.mu.Unlock()
		if stop != nil {
			stop()
		}
		return
	case err == nil && k.cancel != nil && k.mapping == mapping:
		w.mu.Unlock()
		return
	}
	w.stopReading(k)
	stop, changed := k.cancel, k.cancel != nil || fmt.Sprint(k.problem) != fmt.Sprint(err)
	k.cancel, k.synced, k.problem = nil, false, err
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
	if changed { // Before the first event of the kind: a callback of OnObject may rely on OnKind.
		w.tellKind(gk)
	}
	if err == nil {
		w.run(ctx, k, mapping, running)
	}
}

// stopReading records that the informer of a kind ends. The caller holds mu.
func (w *Watcher) stopReading(k *watched) {
	if k.cancel != nil && !k.synced {
		w.reading.end(time.Now(), false)
	}
}

func (w *Watcher) tellKind(gk schema.GroupKind) {
	for _, f := range w.onKind {
		f(gk)
	}
}

// tellObject calls the callbacks of OnObject, and schedules refreshKinds if a
// CustomResourceDefinition or an APIService changed.
func (w *Watcher) tellObject(c Change) {
	switch c.Object().ID.GroupKind() {
	case DefinitionKind, apiServiceKind:
		if c.Old == nil || c.New == nil || c.Old.Generation != c.New.Generation || maps.Equal(c.Old.Labels, c.New.Labels) {
			w.doubt(10 * time.Millisecond)
		}
	}
	for _, f := range w.onObject {
		f(c)
	}
}
