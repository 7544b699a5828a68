package external

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options of an engine.
type Options struct {
	// Group is the prefix of finalizers, annotations and field owners.
	Group string
	// Noun is what conditions call a resource, as in "OpenStack resource".
	Noun string
	// Summary adds the conditions Ready and Drifted, which the published API has not.
	Summary bool
	// Cloud is where it says that a resource was deleted from, as in "OpenStack".
	Cloud string
	// Workers is how many objects of a kind in one namespace, at one place, are worked on at
	// once. Zero means 8. All together have three times as many workers (turns.go).
	Workers int
	// Resync is how often resources are compared with their specs. Zero means ten
	// minutes, negative never.
	Resync time.Duration
	// Live reads and writes without a cache.
	Live client.Client
	// Events tell people what can't be seen from conditions.
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Account begins an account of the memory of a list, which an Actuator reads with the
	// returned context. The engine calls end when it drops the list. Account may be nil.
	Account func(context.Context) (with context.Context, end func())
	// Tenant names the namespace in whose name an Actuator calls with the returned context, for
	// fair shares of calls. It may be nil.
	Tenant func(ctx context.Context, namespace string) context.Context
}

// Engine runs the kinds of a pack. Make it with New, add kinds, then Start it.
type Engine struct {
	Options

	mgr   manager.Manager
	hub   hub
	kinds []kind
	pools []*Pool
}

// kind is a kind of the pack's own, with what leads its objects.
type kind struct {
	*member

	reconciler ctrlreconcile.TypedReconciler[object.ID]
	turns      *turns
}

// New returns an engine without kinds.
func New(mgr manager.Manager, options Options) *Engine {
	options.Workers = cmp.Or(options.Workers, 8)
	options.Resync = cmp.Or(options.Resync, 10*time.Minute)
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Account == nil {
		options.Account = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	}
	if options.Tenant == nil {
		options.Tenant = func(ctx context.Context, _ string) context.Context { return ctx }
	}
	return &Engine{Options: options, mgr: mgr, hub: hub{
		group: options.Group, members: map[schema.GroupKind]*member{}, clock: options.Clock,
		relations: map[string]relation.Relation{}, owners: map[string]string{}, left: map[hold]bool{},
		contents: map[object.ID]string{},
	}}
}

// Watch has objects of a kind that is not the pack's own be referred to. Only
// their metadata is watched. Each that is gone is told to gone, which must not block.
func (e *Engine) Watch(gvk schema.GroupVersionKind, gone func(object.ID)) {
	e.hub.members[gvk.GroupKind()] = &member{
		gvk: gvk, informed: partial(gvk), forget: func(id object.ID, _ types.UID) { gone(id) },
	}
}

// finalizer returns the one of a kind.
func (e *Engine) finalizer(gvk schema.GroupVersionKind) string {
	return e.Group + "/" + strings.ToLower(gvk.Kind)
}

// Add adds a kind.
func Add[K Object, R any](e *Engine, k Kind[K, R]) {
	m := &member{gvk: k.GVK, relations: k.Relations, own: true, informed: newOf[K](), cloud: k.Cloud}
	if k.Uses != nil {
		m.uses = func(obj Object) []Resource { return k.Uses(obj.(K)) }
	}
	e.hub.members[k.GVK.GroupKind()] = m
	for _, r := range k.Relations {
		e.hub.relations[r.Name] = r
		if r.Finalizer != "" && !slices.Contains(e.hub.guards, r.Finalizer) {
			e.hub.guards = append(e.hub.guards, r.Finalizer)
		}
		if r.FieldOwner != "" {
			e.hub.owners[r.Finalizer] = r.FieldOwner
		}
	}
	r := &reconciler[K, R]{
		engine: e, kind: k, member: m, finalizer: e.finalizer(k.GVK), turns: newTurns(e.Workers, m.queue.Add),
	}
	if k.Pool != nil {
		k.Pool.id = func(obj client.Object) object.ID { return object.Of(obj, m.gk()) }
		k.Pool.wake = m.queue.Add
		e.pools = append(e.pools, k.Pool)
	}
	r.claims.wake, r.sharing.wake = m.queue.Add, m.queue.Add
	r.observer = newObserver(e.Clock, k.Identify, e.Account)
	m.ended, m.forget, m.learn = r.ended, r.forget, r.learn
	e.kinds = append(e.kinds, kind{m, r, r.turns})
}

// Start adds informers, controllers and guards to the manager.
func (e *Engine) Start(ctx context.Context) error {
	e.makeGuards()
	for _, gk := range sortedKinds(e.hub.members) {
		if err := e.hear(ctx, e.hub.members[gk]); err != nil {
			return err
		}
	}
	for _, p := range e.pools {
		if err := e.mgr.Add(p); err != nil {
			return fmt.Errorf("add a pool: %w", err)
		}
	}
	for _, k := range e.kinds {
		heard := e.heard(append(e.targets(k.member), k.member))
		err := e.control(strings.ToLower(k.gvk.Kind), crowd*e.Workers, k.reconciler, &k.queue, heard, k.ids)
		if err != nil {
			return err
		}
	}
	for _, gk := range sortedKinds(e.hub.members) {
		m := e.hub.members[gk]
		if m.guard == nil {
			continue
		}
		held := func() []object.ID {
			return slices.DeleteFunc(m.ids(), func(id object.ID) bool {
				obj := m.get(id)
				return obj == nil || !slices.ContainsFunc(obj.GetFinalizers(), m.guards)
			})
		}
		heard := e.heard(append(e.sources(m), m))
		if err := e.control(strings.ToLower(gk.Kind)+"-guard", e.Workers, m.guard, &m.releases, heard, held); err != nil {
			return err
		}
	}
	return nil
}

// makeGuards makes one for each kind that is referred to by a relation with a
// finalizer. Which one that is shows only when an object is extracted, so that
// every kind may carry every guard.
func (e *Engine) makeGuards() {
	names := slices.Sorted(slices.Values(e.hub.guards))
	for _, m := range e.hub.members {
		own := e.finalizer(m.gvk)
		m.guard = &guard.Finalizers{
			Kind: m.gvk, Client: e.Live, FieldOwners: e.hub.owners,
			Names: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return m.own && n == own }),
			Get: func(id object.ID) metav1.Object {
				if obj := m.get(id); obj != nil {
					return obj
				}
				return nil
			},
			InUse: func(ctx context.Context, id object.ID, finalizer string) (bool, error) {
				return e.hub.inUse(ctx, e.Live, id, finalizer)
			},
		}
	}
}

func (e *Engine) hear(ctx context.Context, m *member) error {
	informer, err := watch.Open(ctx, e.mgr.GetCache(), m.gk(), m.informed)
	if err != nil {
		return err
	}
	m.store = informer.GetStore()
	m.synced, err = informer.Listen(watch.Handler(func(c watch.Change[client.Object]) { e.hub.told(m, c) }))
	if err != nil {
		return fmt.Errorf("watch %s: %w", m.gvk.Kind, err)
	}
	return nil
}

// heard returns a function that waits until the caches of some kinds are filled. A
// controller waits only for the kinds that it needs, so that a kind without the right to
// watch stops no controller of other kinds.
func (e *Engine) heard(members []*member) func(context.Context) bool {
	return func(ctx context.Context) bool {
		synced := make([]toolscache.InformerSynced, 0, len(members))
		for _, m := range members {
			synced = append(synced, m.synced)
		}
		return toolscache.WaitForCacheSync(ctx.Done(), synced...)
	}
}

// targets returns the kinds that objects of a kind refer to.
func (e *Engine) targets(m *member) []*member {
	var all []*member
	for _, gk := range sortedKinds(e.hub.members) {
		target := e.hub.members[gk]
		if slices.ContainsFunc(m.relations, func(r relation.Relation) bool {
			return r.Target == gk || r.Target.Empty() // Objects themselves name the kind.
		}) {
			all = append(all, target)
		}
	}
	return all
}

// sources returns the kinds whose objects may refer to objects of the kind m. A guard is
// released only when the caches of all sources are filled.
func (e *Engine) sources(m *member) []*member {
	var all []*member
	for _, gk := range sortedKinds(e.hub.members) {
		if source := e.hub.members[gk]; slices.Contains(e.targets(source), m) {
			all = append(all, source)
		}
	}
	return all
}

// Back-off of failed attempts: the first soon, since most failures are short, and
// the last not so late that people wait for it.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = time.Minute
)

func (e *Engine) control(
	name string, workers int, r ctrlreconcile.TypedReconciler[object.ID], q *reconcile.Queue,
	heard func(context.Context) bool, all func() []object.ID,
) error {
	return reconcile.Controller{
		Name: e.Group + "/" + name, Reconciler: r, Queue: q, Workers: workers, Heard: heard, All: all,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[object.ID](firstRetry, lastRetry),
	}.AddTo(e.mgr)
}

func sortedKinds(members map[schema.GroupKind]*member) []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(members), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}
