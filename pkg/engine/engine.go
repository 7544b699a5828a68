package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options are the options of an [Engine].
type Options struct {
	// Name is the prefix of the names of controllers and field managers, such as example.com.
	Name string
	// Live is a client.Client without a cache.
	Live client.Client
	// GuardWorkers is the number of workers of each guard controller. Zero means 8.
	GuardWorkers int
	// Pool, if set, is the number of workers that the reconcilers of all kinds share, in place of
	// Kind.Workers each; the guard controllers then share GuardWorkers. With hundreds of kinds, the controllers of
	// idle kinds would take most of the memory.
	Pool int
	// Reasons are the reasons of the outcomes that the [Engine] returns.
	Reasons Reasons
	// Catalog, if set, makes the [Engine] follow CustomResourceDefinitions: kinds may be
	// installed after the Engine has started. The operator then needs the verbs list and watch
	// on customresourcedefinitions.apiextensions.k8s.io.
	Catalog *watch.Catalog
	// Discover, if set, is called with each kind that the API server serves and the [Engine] does
	// not have, at the start and after a CustomResourceDefinition was installed. Discover is called again for a
	// kind that is served only in another version by now. Discover may call [Engine.Add]: thousands of kinds may
	// be possible, and only those that are installed have a controller. Discover needs Catalog.
	Discover func(watch.Mapping)
	// Health, if set, forgets a kind whose CustomResourceDefinition was deleted
	// ([watch.Health.Forget]), and tells which kinds the operator may not read: such a kind stops
	// no other kind. An object that refers to the kind waits, and says which right is missing.
	Health *watch.Health
	// Guards are values of Relation.Finalizer of kinds that Discover adds. A kind that is added
	// after the start MUST NOT have a relation with another finalizer.
	Guards []string
	// Watcher, if set, watches objects of kinds that are known at run time only, such as the workloads that
	// a user's object is rendered into. A change of such an object requeues its controller, and the objects
	// that refer to the object or to its controller (Kind.Composed). The stores MUST keep
	// metadata.ownerReferences (relation.Watcher.Keep). Call [New] before the Watcher is started.
	Watcher *relation.Watcher
	// OwnerLabels, if set, is the prefix of labels that [Engine.Own] sets: PREFIX/owner-name,
	// owner-kind and owner-uid. With these, kubectl lists the objects of an owner.
	OwnerLabels string
}

// Reasons are the reasons of each reconcile.Outcome, and so of status.conditions. An empty reason
// has a default.
type Reasons struct {
	Waiting string // for a target; default WaitingForReference
	Owner   string // waiting for an owner; default Waiting
	Failed  string // to write; default WriteFailed
	Refused string // to own; default OwnerConflict
}

// Engine watches kinds and keeps the edges between their objects. Make an Engine with [New],
// add kinds with [Engine.Add], then call [Engine.Start]. All methods but [Engine.Watch] and Start
// are safe for concurrent use.
type Engine struct {
	options Options
	mgr     manager.Manager
	// known is the registry, which [Engine.Add] replaces as a whole.
	known atomic.Pointer[registry]
	index relation.Index
	// waiters has the objects of [Engine.WaitFor].
	waiters apply.Waiters

	// mu makes finding and recording the edges of one object a single step (Engine.record), and
	// guards unused and contents.
	mu sync.Mutex
	// unused has the guards without a source (markUnused): a watch event or a live list has shown
	// that the last source was deleted or refers to another target.
	unused map[guarded]bool
	// contents has the resourceVersion of objects of which the [Engine] has only the metadata. A
	// version that only added a guard of the Engine is left out (contentChanged).
	contents map[object.ID]string
	// undefined has the names of CustomResourceDefinitions that were deleted, until discovery drops their kinds.
	undefined locked.Map[string, bool]
	// passes and releases are the controllers that all kinds share, with Options.Pool.
	passes, releases *pool
}

// Metrics returns the metrics of the edges that the Engine knows ([relation.Index.Metrics]). Label pack
// tells several Engines apart.
func (e *Engine) Metrics(pack string) prometheus.Collector { return e.index.Metrics(pack) }

// registry has the kinds of an [Engine].
type registry struct {
	members map[schema.GroupKind]*member
	// relations has the relations of all kinds, by Relation.Name.
	relations map[string]relation.Relation
	// guards has each Relation.Finalizer once. fieldOwners has Relation.FieldOwner by
	// finalizer, where set.
	guards      []string
	fieldOwners map[string]string
}

// with returns a registry with one more kind.
func (r *registry) with(m *member) *registry {
	all := &registry{
		members: maps.Clone(r.members), relations: maps.Clone(r.relations),
		guards: slices.Clone(r.guards), fieldOwners: maps.Clone(r.fieldOwners),
	}
	all.members[m.gk()] = m
	for _, one := range m.Relations {
		all.relations[one.Name] = one
		if one.Finalizer != "" && !slices.Contains(all.guards, one.Finalizer) {
			all.guards = append(all.guards, one.Finalizer)
		}
		if one.FieldOwner != "" {
			all.fieldOwners[one.Finalizer] = one.FieldOwner
		}
	}
	return all
}

// member returns a kind of the [Engine], or nil.
func (e *Engine) member(gk schema.GroupKind) *member { return e.known.Load().members[gk] }

// guarded is a target with a value in metadata.finalizers that guards the target.
type guarded struct {
	target    object.ID
	finalizer string
}

// New returns an [Engine] without kinds.
func New(mgr manager.Manager, options Options) *Engine {
	options.GuardWorkers = cmp.Or(options.GuardWorkers, 8)
	options.Reasons = Reasons{
		Waiting: cmp.Or(options.Reasons.Waiting, "WaitingForReference"),
		Owner:   cmp.Or(options.Reasons.Owner, options.Reasons.Waiting, "WaitingForReference"),
		Failed:  cmp.Or(options.Reasons.Failed, "WriteFailed"),
		Refused: cmp.Or(options.Reasons.Refused, "OwnerConflict"),
	}
	e := &Engine{options: options, mgr: mgr, unused: map[guarded]bool{}, contents: map[object.ID]string{}}
	e.known.Store(&registry{
		members: map[schema.GroupKind]*member{}, relations: map[string]relation.Relation{},
		guards: slices.Clone(options.Guards), fieldOwners: map[string]string{},
	})
	if options.Watcher != nil {
		options.Watcher.OnObject(e.composedChanged)
		options.Watcher.OnKind(e.composedKindChanged)
	}
	if options.Health != nil {
		options.Health.OnRefusal(e.wakeSources)
	}
	return e
}

// Watch adds a kind that other kinds only refer to, such as Secret. The [Engine] watches only
// the metadata of its objects (PartialObjectMetadata).
func (e *Engine) Watch(gvk schema.GroupVersionKind) { e.Add(Kind{GVK: gvk}) }

// Add adds a [Kind]. Call Add before Start, or in [Options.Discover].
func (e *Engine) Add(k Kind) {
	if k.Writes == nil {
		k.Writes = &reconcile.Writes{}
	}
	if k.Example == nil && (k.Ready != nil || k.Work != nil || len(k.Relations) > 0) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(k.GVK)
		k.Example = u
	}
	m := &member{Kind: k}
	if k.Store != nil {
		m.cache.Store(&objects{k.Store, func() bool { return true }})
	}
	if k.Reconciler == nil && k.Work != nil {
		m.Reconciler = e.pass(m)
	}
	for before := e.known.Load(); !e.known.CompareAndSwap(before, before.with(m)); {
		before = e.known.Load() // Another goroutine has added a kind meanwhile.
	}
}

// Start adds informers, reconcilers and guard controllers to the manager. Without
// [Options.Catalog], Start fails if the API server does not serve one of the kinds.
func (e *Engine) Start(ctx context.Context) error {
	if e.options.Catalog != nil {
		if err := e.options.Catalog.Refresh(ctx); err != nil {
			return err
		}
	}
	e.discover()
	e.makeGuards()
	if err := e.startPools(); err != nil {
		return err
	}
	for _, gk := range e.kinds() {
		if e.isServed(gk) {
			if err := e.open(ctx, e.member(gk)); err != nil {
				return err
			}
		}
	}
	for _, gk := range e.kinds() {
		if err := e.control(e.member(gk)); err != nil {
			return err
		}
	}
	return e.follow(ctx)
}

// isServed reports whether the API server serves a kind. Without [Options.Catalog], isServed
// returns true for every kind, and open fails for a kind that is not served.
func (e *Engine) isServed(gk schema.GroupKind) bool {
	if e.options.Catalog == nil {
		return true
	}
	_, err := e.options.Catalog.Mapping(e.member(gk).GVK)
	return err == nil
}

// open opens the informer of a kind.
func (e *Engine) open(ctx context.Context, m *member) error {
	if m.Store != nil {
		return nil
	}
	example := m.Example
	if example == nil {
		example = metadataOf(m.GVK)
	}
	if e.options.Catalog != nil {
		if mapping, err := e.options.Catalog.Mapping(m.GVK); err == nil {
			m.definition = mapping.Resource.GroupResource().String()
		}
	}
	informer, err := watch.Open(ctx, e.mgr.GetCache(), m.gk(), example)
	if err != nil {
		return err
	}
	cache := &objects{store: informer.GetStore(), synced: func() bool { return false }}
	m.cache.Store(cache) // Observe reads this store.
	synced, err := informer.Listen(watch.Handler(func(c watch.Change[client.Object]) { e.Observe(m.gk(), c) }))
	if err != nil {
		return fmt.Errorf("watch %s: %w", m.GVK.Kind, err)
	}
	m.cache.Store(&objects{cache.store, synced})
	return nil
}

// control adds [Kind].Reconciler and the guard controller ([guard.Finalizers.Reconcile]) of a kind
// to the manager. Each controller waits only for the caches of the kinds that it needs: if the
// operator has no right to watch Secrets, controllers that need no Secrets start.
func (e *Engine) control(m *member) error {
	if m.controlled {
		return nil
	}
	m.controlled = true
	name := strings.ToLower(m.GVK.Kind)
	if m.Reconciler != nil {
		synced := synced(func() bool { return e.passesMayBegin(m) })
		run := func() error { return e.run(name, max(m.Workers, 1), m.Reconciler, &m.queue, synced, m.ids) }
		if e.passes != nil {
			run = func() error { return e.passes.join(e.mgr, &m.queue, synced, m.ids) }
		}
		if err := run(); err != nil {
			return err
		}
	}
	if m.finalizer == nil {
		return nil
	}
	begin := func() []object.ID {
		return slices.DeleteFunc(m.ids(), func(id object.ID) bool {
			obj := m.get(id)
			return obj == nil || !m.isGuarded(obj)
		})
	}
	synced := synced(func() bool { return areHeard(append(e.sourceKinds(m), m)) })
	if e.releases != nil {
		return e.releases.join(e.mgr, &m.released, synced, begin)
	}
	return e.run(name+"-guard", e.options.GuardWorkers, m.finalizer, &m.released, synced, begin)
}

// A failed attempt is repeated after FirstRetry, since most failures are short, and then with
// exponential back-off up to LastRetry.
const (
	FirstRetry = 200 * time.Millisecond
	LastRetry  = time.Minute
)

func (e *Engine) run(
	name string, workers int, r ctrlreconcile.TypedReconciler[object.ID], q *reconcile.Queue,
	synced func(context.Context) bool, begin func() []object.ID,
) error {
	return reconcile.Controller{
		Name: e.options.Name + "/" + name, Reconciler: r, Queue: q, Workers: workers, Heard: synced, All: begin,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[object.ID](FirstRetry, LastRetry),
	}.AddTo(e.mgr)
}

// synced returns a function for reconcile.Controller.Heard that waits until the caches which a
// controller needs are filled.
func synced(heard func() bool) func(context.Context) bool {
	return func(ctx context.Context) bool { return toolscache.WaitForCacheSync(ctx.Done(), heard) }
}

// areHeard reports whether the caches of kinds are filled. A kind without a cache counts as filled: the API
// server does not serve the kind, or does not any more.
func areHeard(members []*member) bool {
	return !slices.ContainsFunc(members, func(m *member) bool {
		cache := m.cache.Load()
		return cache != nil && !cache.synced()
	})
}

// passesMayBegin reports whether the caches are filled of a kind, and of the kinds that its objects refer to. A
// kind with a relation without Relation.Target needs all kinds, so that an owner is not deleted before the users of
// what it owns are known. A kind that the operator may not read ([Options.Health]) stops no other kind, unless a
// relation has its objects created: the pass must not conclude that they are gone.
func (e *Engine) passesMayBegin(m *member) bool {
	needed := []*member{m}
	for _, gk := range e.kinds() {
		refers := slices.ContainsFunc(m.Relations, func(r relation.Relation) bool {
			return r.Target == gk || r.Target.Empty()
		})
		if refers && (!e.isForbidden(gk) || creates(m.Relations, gk)) {
			needed = append(needed, e.member(gk))
		}
	}
	return areHeard(needed)
}

// creates reports whether objects with these relations do without a missing object of a kind, or create it.
func creates(relations []relation.Relation, gk schema.GroupKind) bool {
	return slices.ContainsFunc(relations, func(r relation.Relation) bool { return r.Target == gk && !waits(r) })
}

func (e *Engine) isForbidden(gk schema.GroupKind) bool {
	return e.options.Health != nil && e.options.Health.Forbidden(gk)
}

// sourceKinds returns the kinds whose objects may guard objects of the kind m. The guard controller
// of m ([guard.Finalizers.Reconcile]) removes no finalizer before the caches of these kinds are
// filled.
func (e *Engine) sourceKinds(m *member) []*member {
	var all []*member
	for _, gk := range e.kinds() {
		source := e.member(gk)
		if slices.ContainsFunc(source.Relations, func(r relation.Relation) bool {
			return r.Finalizer != "" && r.MayTarget(m.gk())
		}) {
			all = append(all, source)
		}
	}
	return all
}

// kinds returns the GroupKinds of the [Engine] in a fixed order.
func (e *Engine) kinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(e.known.Load().members), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

// Get returns an object from the cache, or nil. The object belongs to the cache.
func (e *Engine) Get(id object.ID) client.Object {
	if m := e.member(id.GroupKind()); m != nil {
		return m.get(id)
	}
	return nil
}

// List returns the objects of a kind from the cache, in no particular order.
func (e *Engine) List(gk schema.GroupKind) []client.Object {
	if m := e.member(gk); m != nil {
		return m.list()
	}
	return nil
}

// Requeue adds an object to the reconcile.Queue of its kind. Before the reconciler runs
// ([reconcile.Queue.Running]), Requeue does nothing: a reconciler begins with all objects.
func (e *Engine) Requeue(id object.ID) {
	if m := e.member(id.GroupKind()); m != nil {
		m.queue.Add(id)
	}
}

// Running reports whether the reconciler of a kind runs ([reconcile.Queue.Running]), which is
// so only in the leader.
func (e *Engine) Running(gk schema.GroupKind) bool {
	m := e.member(gk)
	return m != nil && m.queue.Running()
}

// Mapping implements [relation.Kinds] for [relation.Reference]: Mapping returns the kinds of
// the [Engine], whether the API server serves them or not. So a reference to a kind that is not
// served yet is an edge, and its source waits. Of all other kinds, [Options.Watcher] knows whether
// they are served.
func (e *Engine) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	m := e.member(gvk.GroupKind())
	switch {
	case m == nil && e.options.Watcher != nil:
		return e.options.Watcher.Mapping(gvk)
	case m == nil:
		return watch.Mapping{}, &watch.KindError{Kind: gvk}
	}
	return watch.Mapping{
		Resource: m.GVK.GroupVersion().WithResource(""), Kind: m.GVK.Kind, Namespaced: !m.ClusterScoped,
	}, nil
}
