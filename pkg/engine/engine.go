package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options of an Engine.
type Options struct {
	// Name is the prefix of the names of controllers and field managers, such as example.com.
	Name string
	// Live reads and writes without a cache.
	Live client.Client
	// GuardWorkers is how many objects of one kind a guard controller works on at once. Zero
	// means 8.
	GuardWorkers int
	// Reasons are those of the outcomes that the Engine returns.
	Reasons Reasons
	// Catalog, if set, makes the Engine follow CustomResourceDefinitions: kinds may be installed
	// after the Engine has started. The operator then needs the rights to list and watch
	// customresourcedefinitions.
	Catalog *watch.Catalog
}

// Reasons are the reasons of outcomes, and so of conditions. Empty ones have defaults.
type Reasons struct {
	Waiting string // for a target; default WaitingForReference
	Failed  string // to write; default WriteFailed
	Refused string // to own; default OwnerConflict
}

// Engine watches kinds and keeps the edges between their objects. Make it with New, add kinds,
// then Start it. All methods but Add, Watch and Start are safe for concurrent use.
type Engine struct {
	options Options
	mgr     manager.Manager
	members map[schema.GroupKind]*member
	// relations of all kinds, by name.
	relations map[string]relation.Relation
	// guards are the finalizers of the relations, each once, and fieldOwners the field managers
	// of those with Relation.FieldOwner.
	guards      []string
	fieldOwners map[string]string
	index       relation.Index

	// mu makes finding and recording the edges of one object a single act, and guards the maps.
	mu sync.Mutex
	// unused are the guards whose last source was seen to leave by a watch, or by a live list.
	unused map[guarded]bool
	// contents are the versions of objects of which the Engine has the metadata alone. A version
	// that only brought a guard of the Engine is not among them.
	contents map[object.ID]string
}

// guarded is a target and a finalizer that guards it.
type guarded struct {
	target    object.ID
	finalizer string
}

// New returns an engine without kinds.
func New(mgr manager.Manager, options Options) *Engine {
	options.GuardWorkers = cmp.Or(options.GuardWorkers, 8)
	options.Reasons = Reasons{
		Waiting: cmp.Or(options.Reasons.Waiting, "WaitingForReference"),
		Failed:  cmp.Or(options.Reasons.Failed, "WriteFailed"),
		Refused: cmp.Or(options.Reasons.Refused, "OwnerConflict"),
	}
	return &Engine{
		options: options, mgr: mgr, members: map[schema.GroupKind]*member{},
		relations: map[string]relation.Relation{}, fieldOwners: map[string]string{},
		unused: map[guarded]bool{}, contents: map[object.ID]string{},
	}
}

// Watch adds a kind that is only referred to. Only the metadata of its objects is watched.
func (e *Engine) Watch(gvk schema.GroupVersionKind) { e.Add(Kind{GVK: gvk}) }

// Add adds a kind. Call it before Start.
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
	e.members[k.GVK.GroupKind()] = m
	for _, r := range k.Relations {
		e.relations[r.Name] = r
		if r.Finalizer != "" && !slices.Contains(e.guards, r.Finalizer) {
			e.guards = append(e.guards, r.Finalizer)
		}
		if r.FieldOwner != "" {
			e.fieldOwners[r.Finalizer] = r.FieldOwner
		}
	}
	if k.Reconciler == nil && k.Work != nil {
		m.Reconciler = e.pass(m)
	}
}

// Start adds informers, reconcilers and guard controllers to the manager. Without
// [Options.Catalog], Start fails if a kind is not served.
func (e *Engine) Start(ctx context.Context) error {
	e.makeGuards()
	if e.options.Catalog != nil {
		if err := e.options.Catalog.Refresh(ctx); err != nil {
			return err
		}
	}
	for _, gk := range e.kinds() {
		if e.isServed(gk) {
			if err := e.open(ctx, e.members[gk]); err != nil {
				return err
			}
		}
	}
	for _, gk := range e.kinds() {
		if err := e.control(e.members[gk]); err != nil {
			return err
		}
	}
	return e.follow(ctx)
}

// isServed reports whether the informer of a kind can be opened. Without a catalog every kind
// has to be served.
func (e *Engine) isServed(gk schema.GroupKind) bool {
	if e.options.Catalog == nil {
		return true
	}
	_, err := e.options.Catalog.Mapping(e.members[gk].GVK)
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
	informer, err := watch.Open(ctx, e.mgr.GetCache(), m.gk(), example)
	if err != nil {
		return err
	}
	cache := &objects{store: informer.GetStore(), synced: func() bool { return false }}
	m.cache.Store(cache) // Observe reads the store.
	synced, err := informer.Listen(watch.Handler(func(c watch.Change[client.Object]) { e.Observe(m.gk(), c) }))
	if err != nil {
		return fmt.Errorf("watch %s: %w", m.GVK.Kind, err)
	}
	m.cache.Store(&objects{cache.store, synced})
	return nil
}

// control adds the reconciler and the guard controller of a kind. Each waits only for the caches
// of the kinds that it needs, so that a kind that the operator may not watch stops no controller
// of other kinds.
func (e *Engine) control(m *member) error {
	name := strings.ToLower(m.GVK.Kind)
	if m.Reconciler != nil {
		synced := e.synced(append(e.targets(m), m))
		if err := e.run(name, max(m.Workers, 1), m.Reconciler, &m.queue, synced, m.ids); err != nil {
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
	synced := e.synced(append(e.sourceKinds(m), m))
	return e.run(name+"-guard", e.options.GuardWorkers, m.finalizer, &m.released, synced, begin)
}

// Failed attempts are repeated after FirstRetry at first, since most failures are short, and
// after LastRetry at last.
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

// synced returns a function that waits until the caches of some kinds are filled. A kind that is
// not served has no objects, and is not waited for.
func (e *Engine) synced(members []*member) func(context.Context) bool {
	return func(ctx context.Context) bool {
		all := make([]toolscache.InformerSynced, 0, len(members))
		for _, m := range members {
			if cache := m.cache.Load(); cache != nil {
				all = append(all, cache.synced)
			}
		}
		return toolscache.WaitForCacheSync(ctx.Done(), all...)
	}
}

// targets returns the kinds that objects of a kind refer to. A relation without Target may refer
// to every kind.
func (e *Engine) targets(m *member) []*member {
	var all []*member
	for _, gk := range e.kinds() {
		if slices.ContainsFunc(m.Relations, func(r relation.Relation) bool {
			return r.Target == gk || r.Target.Empty()
		}) {
			all = append(all, e.members[gk])
		}
	}
	return all
}

// sourceKinds returns the kinds whose objects may refer to objects of the kind m. A guard is
// taken off only when the caches of all these kinds are filled.
func (e *Engine) sourceKinds(m *member) []*member {
	var all []*member
	for _, gk := range e.kinds() {
		if source := e.members[gk]; slices.Contains(e.targets(source), m) {
			all = append(all, source)
		}
	}
	return all
}

// kinds returns the kinds of the engine in a fixed order.
func (e *Engine) kinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(e.members), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

// Get returns an object as the cache shows it, or nil. The object belongs to the cache.
func (e *Engine) Get(id object.ID) client.Object {
	if m := e.members[id.GroupKind()]; m != nil {
		return m.get(id)
	}
	return nil
}

// List returns the objects of a kind that the cache shows, in no particular order.
func (e *Engine) List(gk schema.GroupKind) []client.Object {
	if m := e.members[gk]; m != nil {
		return m.list()
	}
	return nil
}

// Requeue has the reconciler of an object's kind work on the object. Requeue does nothing before
// the reconciler runs: a reconciler begins with all objects.
func (e *Engine) Requeue(id object.ID) {
	if m := e.members[id.GroupKind()]; m != nil {
		m.queue.Add(id)
	}
}

// Running reports whether the reconciler of a kind runs: only in the leader.
func (e *Engine) Running(gk schema.GroupKind) bool {
	m := e.members[gk]
	return m != nil && m.queue.Running()
}

// Mapping implements [relation.Kinds] for relation.Reference: the kinds of the engine, served or
// not. A reference to a kind that is not served yet is an edge, and its source waits.
func (e *Engine) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	m := e.members[gvk.GroupKind()]
	if m == nil {
		return watch.Mapping{}, &watch.KindError{Kind: gvk}
	}
	return watch.Mapping{
		Resource: m.GVK.GroupVersion().WithResource(""), Kind: m.GVK.Kind, Namespaced: !m.ClusterScoped,
	}, nil
}
