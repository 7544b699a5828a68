package relation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Presence is what the watcher knows about whether an object exists.
type Presence int

const (
	// Unknown means that the kind is not watched, or not yet read.
	Unknown Presence = iota
	// Absent means that the object was not there as last seen. It may have been
	// created since: confirm with a live read before giving anything up.
	Absent
	// Present means that the object was there as last seen.
	Present
)

// Kinds whose objects tell that other kinds come and go.
var (
	// DefinitionKind is the kind that defines custom resources.
	DefinitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	// apiServiceKind tells of groups served by other API servers.
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// watcherItself is the user on whose behalf the watcher follows definitions.
var watcherItself = object.ID{Kind: "Watcher"}

const (
	// linger keeps an informer for a while after its last user, so that a kind
	// whose users come and go is not listed anew each time.
	linger = 5 * time.Second
	// discoveryLag is how long a definition may be known before the API server lists its kind,
	// or lists it no more.
	discoveryLag = time.Second
	// discoveryPatience is for how long after a doubt a kind that is waited for, or that
	// nothing can be told of, is looked up again and again.
	discoveryPatience = 10 * time.Second
	// silentRetry is when to look again at a group that is in use and stays silent: who
	// serves it may be back without a word.
	silentRetry = 30 * time.Second
)

// Change is one object seen to come, change or go. Old or New is nil.
type Change struct {
	Old, New *Object
	// Told says of the end of an object that the API server told of it. Else it was found
	// missing in a list.
	Told bool
}

// Object returns the newest state.
func (c Change) Object() Object {
	if c.New != nil {
		return *c.New
	}
	return *c.Old
}

// Watcher watches the metadata of the kinds in use. Create it with NewWatcher,
// register callbacks, then run Start. It is safe for concurrent use.
type Watcher struct {
	metadata metadata.Interface
	catalog  *watch.Catalog
	log      logr.Logger
	queue    workqueue.TypedDelayingInterface[schema.GroupKind]

	onObject []func(Change)
	onKind   []func(schema.GroupKind)

	mu    sync.RWMutex
	kinds map[schema.GroupKind]*watched
	uses  map[object.ID][]schema.GroupKind
	// latest are the kinds last used: those of thousands of users are often the same.
	latest []schema.GroupKind
	// namespaces are those in which objects are watched. None means all.
	namespaces []string
	// doubted is when what is known of kinds was last in doubt: a definition changed, or a
	// kind came into use that is not known.
	doubted time.Time
	reading reading
}

// NewWatcher returns a Watcher that reads through config.
func NewWatcher(config *rest.Config, log logr.Logger) (*Watcher, error) {
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make metadata client: %w", err)
	}
	disc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	return &Watcher{
		metadata: meta,
		catalog:  watch.NewCatalog(disc, meta),
		log:      log,
		queue:    workqueue.NewTypedDelayingQueue[schema.GroupKind](),
		kinds:    map[schema.GroupKind]*watched{},
		uses:     map[object.ID][]schema.GroupKind{},
	}, nil
}

// In has objects watched in some namespaces alone, and those that have no namespace. Call it
// before Start.
func (w *Watcher) In(namespaces ...string) { w.namespaces = namespaces }

// Limited reports whether objects are watched in some namespaces alone.
func (w *Watcher) Limited() bool { return len(w.namespaces) > 0 }

// Covers reports whether objects in a namespace are watched.
func (w *Watcher) Covers(namespace string) bool {
	return len(w.namespaces) == 0 || namespace == "" || slices.Contains(w.namespaces, namespace)
}

// Namespaces returns where all objects of a kind are to be looked for: one namespace after
// another, or once in all, which is the name "".
func (w *Watcher) Namespaces(m watch.Mapping) []string {
	if len(w.namespaces) == 0 || !m.Namespaced {
		return []string{metav1.NamespaceAll}
	}
	return w.namespaces
}

// OnObject registers a callback for every change of an object of a kind in use.
// It is called in order per object and must not block. Register before Start.
func (w *Watcher) OnObject(f func(Change)) { w.onObject = append(w.onObject, f) }

// OnKind registers a callback for kinds that become known, are read, fail or
// vanish. Register before Start.
func (w *Watcher) OnKind(f func(schema.GroupKind)) { w.onKind = append(w.onKind, f) }

// Mapping implements Kinds.
func (w *Watcher) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	return w.catalog.Mapping(gvk)
}

// Served returns every kind that the cluster serves, in its preferred version,
// in order.
func (w *Watcher) Served() []watch.Kind { return w.catalog.Served() }

// Silence returns why not everything can be told of a group: whoever serves it does
// not answer. It is nil of a group that answers, and of one that does not exist. Kinds
// of a silent group that were known before are served as far as anybody knows.
func (w *Watcher) Silence(group string) error { return w.catalog.Silence(group) }

// NeedLeaderElection tells the manager to run the watcher in every replica:
// admission is answered by all of them.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Close ends a Watcher that is not to be started.
func (w *Watcher) Close() { w.queue.ShutDown() }

// Refresh reads what kinds the cluster serves. Start does so by itself; call it
// before to have Mapping answer earlier.
func (w *Watcher) Refresh(ctx context.Context) error { return w.catalog.Refresh(ctx) }

// Start watches until the context ends and then stops every informer.
func (w *Watcher) Start(ctx context.Context) error {
	defer w.queue.ShutDown() // It runs since NewWatcher.
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
			w.follow(ctx, &running)
		} else {
			w.settle(ctx, gk, &running)
			if !w.certain(gk) { // Nobody looked again while it was not in use.
				w.doubt(50 * time.Millisecond)
			}
		}
		w.queue.Done(gk)
	}
	running.Wait()
	return nil
}

// Use declares the kinds that a user needs watched, replacing what it needed
// before. No kinds means that it needs none any more.
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

// Users returns who needs a kind watched, in order.
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

// Get returns an object of a kind in use as last seen.
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

// List returns the objects that an end stands for as last seen, oldest first.
// It reports false when their kind is not watched or not yet read.
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

// Problem returns why a kind in use can't be watched: the error of Mapping when
// there is one, the API server's answer when watching fails; nil when nothing is
// known to be wrong.
func (w *Watcher) Problem(gk schema.GroupKind) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if k := w.kinds[gk]; k != nil {
		return k.problem
	}
	return nil
}

// Live reads an object's metadata from the API server. The error is the API
// server's.
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

// livePage is how many objects are read at once.
const livePage = 500

// LiveAny reports whether an end stands for any object, by the metadata in the API
// server. It must have a selector. The error is the API server's.
func (w *Watcher) LiveAny(ctx context.Context, ref Ref) (bool, error) {
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

// ready returns the store of a kind that has been read, or nil.
func (w *Watcher) ready(gk schema.GroupKind) *stores {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if k := w.kinds[gk]; k != nil && k.synced {
		return k.store
	}
	return nil
}

// doubt has what the cluster serves looked at again.
func (w *Watcher) doubt(soon time.Duration) {
	w.mu.Lock()
	w.doubted = time.Now()
	w.mu.Unlock()
	w.queue.AddAfter(schema.GroupKind{}, soon)
}

// follow looks at what the cluster serves, until there can be no doubt of it.
func (w *Watcher) follow(ctx context.Context, running *sync.WaitGroup) {
	begin := time.Now()
	err := w.catalog.Refresh(ctx)
	if err != nil {
		w.log.Error(err, "Kinds may be out of date")
	}
	missing, silent := false, err != nil
	w.mu.RLock()
	age := begin.Sub(w.doubted) // Less than nothing, if the doubt is younger than what was read.
	inUse := make([]schema.GroupKind, 0, len(w.kinds))
	for gk, k := range w.kinds {
		if k.users > 0 { // The others linger.
			inUse = append(inUse, gk)
		}
	}
	w.mu.RUnlock()
	for _, gk := range inUse {
		w.settle(ctx, gk, running)
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

// certain reports whether all is known of a kind: that it is served, and by whom.
func (w *Watcher) certain(gk schema.GroupKind) bool {
	_, err := w.Mapping(gk.WithVersion(""))
	return err == nil && w.Silence(gk.Group) == nil
}

// settle starts, stops or restarts the informer of a kind, as its use and the
// cluster demand.
func (w *Watcher) settle(ctx context.Context, gk schema.GroupKind, running *sync.WaitGroup) {
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
	if changed { // Before the first of its objects: who hears of those knows the kind.
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

// tellObject passes a change on, and looks at the catalog again when it is a
// definition that changed.
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
