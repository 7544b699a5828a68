package external

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options of an engine.
type Options struct {
	// Group is the prefix of finalizers, annotations and field owners.
	Group string
	// Finalizer is the operator's finalizer on all objects. Empty means Group and the name of the
	// kind, such as example.com/network.
	Finalizer string
	// Noun is the name of a resource in conditions, such as "OpenStack resource".
	Noun string
	// Summary adds the conditions Ready and Drifted, which the published API has not.
	Summary bool
	// Specific gives the conditions the reason of what an object waits for, such as
	// WaitingForOwner, in place of Progressing and TransientError.
	Specific bool
	// Adopt is the field by which a person lets an object take over a resource that exists. Empty
	// means spec.adopt.
	Adopt string
	// OwnerLabels is that of engine.Options.
	OwnerLabels string
	// Catalog, Discover, Guards and Health are those of engine.Options, for kinds that are installed later.
	// Discover may call Add.
	Catalog  *watch.Catalog
	Discover func(watch.Mapping)
	Guards   []string
	Health   *watch.Health
	// Cloud is the name of the cloud in conditions, such as "OpenStack".
	Cloud string
	// Workers is how many objects of a kind in one namespace, at one place, are worked on at
	// once. Zero means 8. All together have three times as many workers (turns.go).
	Workers int
	// Pooled says that all kinds share the workers, instead of having so many each: hundreds of kinds
	// may be installed, and the workers of an idle kind take memory.
	Pooled bool
	// Resync is how often resources are compared with their specs. Zero means ten
	// minutes, negative never.
	Resync time.Duration
	// Live reads and writes without a cache.
	Live client.Client
	// Events are for news that conditions do not show, such as DeletedExternally. May be nil.
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Account begins an account of the memory of a list, which an Actuator reads with the
	// returned context. The engine calls end when it drops the list. Account may be nil.
	Account func(context.Context) (with context.Context, end func())
	// Tenant names the namespace in whose name an Actuator calls with the returned context, for
	// fair shares of calls. It may be nil.
	Tenant func(ctx context.Context, namespace string) context.Context
}

// Engine runs the kinds of a pack: make an Engine with New, add kinds, then call Start. Package
// engine has the watches, the index of edges, the waits and the guards; package external adds
// the calls to the API outside.
type Engine struct {
	Options

	mgr  manager.Manager
	core *engine.Engine
	// kinds are in the order of Add, which replaces the list as a whole.
	kinds atomic.Pointer[[]*kind]
	tasks []Tasks

	records *records
	// turns are those of all kinds if Pooled is set.
	turns *turns
}

// kind is a kind of the pack's own, such as Subnet.
type kind struct {
	gvk       schema.GroupVersionKind
	relations []relation.Relation
	cloud     func(place string) string      // [Kind.Cloud]; it may be nil
	key       func(id string) string         // [Kind.Key]; it may be nil
	uses      func(Object) []Resource        // [Kind.Uses]; it may be nil
	ended     func(object.ID, client.Object) // is called with an object as it was at its end
	forget    func(*record)
	learn     func(r *record, obj client.Object, cloud string)
	turns     *turns
	cascades  bool // [Kind.Cascades]
	owned     bool // has a relation of role Owner
}

func (k *kind) gk() schema.GroupKind { return k.gvk.GroupKind() }

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
	options.Adopt = cmp.Or(options.Adopt, "spec.adopt")
	pool := 0
	if options.Pooled {
		pool = crowd * options.Workers
	}
	core := engine.New(mgr, engine.Options{
		Pool: pool,
		Name: options.Group, Live: options.Live, GuardWorkers: options.Workers,
		Reasons: engine.Reasons{
			Waiting: condition.ReasonWaitingForReference, Owner: condition.ReasonWaitingForOwner,
			Failed: condition.ReasonTransientError, Refused: condition.ReasonInvalidConfiguration,
		},
		OwnerLabels: options.OwnerLabels, Catalog: options.Catalog, Discover: options.Discover, Guards: options.Guards,
		Health: options.Health,
	})
	e := &Engine{Options: options, mgr: mgr, core: core, records: newRecords(core.Requeue)}
	e.turns = newTurns(e.Workers, core.Requeue)
	e.kinds.Store(&[]*kind{})
	return e
}

// Watch adds a kind that is not the pack's own and that objects refer to, such as Secret. Only
// the metadata of its objects is watched. The function gone is called with each object that was
// deleted, and must not block.
func (e *Engine) Watch(gvk schema.GroupVersionKind, gone func(object.ID)) {
	e.core.Add(engine.Kind{GVK: gvk, Observe: func(id object.ID, c watch.Change[client.Object]) {
		if c.Deleted() {
			gone(id)
		}
	}})
}

// finalizer returns the finalizer that the engine puts on objects of a kind.
func (e *Engine) finalizer(gvk schema.GroupVersionKind) string {
	return cmp.Or(e.Finalizer, e.Group+"/"+strings.ToLower(gvk.Kind))
}

// kindOf returns the kind of the pack's own with a group and kind, or nil.
func (e *Engine) kindOf(gk schema.GroupKind) *kind {
	all := *e.kinds.Load()
	if i := slices.IndexFunc(all, func(k *kind) bool { return k.gk() == gk }); i >= 0 {
		return all[i]
	}
	return nil
}

// Add adds a kind, before Start or in [Options.Discover]. A kind with Tasks is added before Start.
func Add[K Object, R any](e *Engine, k Kind[K, R]) {
	r := reconcilerOf(e, k)
	if k.Tasks != nil {
		k.Tasks.Serve(func(obj client.Object) { e.core.Requeue(object.Of(obj, k.GVK.GroupKind())) })
		e.tasks = append(e.tasks, k.Tasks)
	}
	e.core.Add(r.register())
}

// reconcilerOf returns the reconciler of a kind.
func reconcilerOf[K Object, R any](e *Engine, k Kind[K, R]) *reconciler[K, R] {
	r := &reconciler[K, R]{
		engine: e, kind: k, finalizer: e.finalizer(k.GVK), reports: newReports(), turns: e.turns,
		observer: newObserver(e.Clock, k.Identify, e.Account),
	}
	if !e.Pooled {
		r.turns = newTurns(e.Workers, e.core.Requeue)
	}
	return r
}

// register adds the kind to the pack's own, and returns what package engine has to know of it.
func (r *reconciler[K, R]) register() engine.Kind {
	e, k := r.engine, &kind{
		gvk: r.kind.GVK, relations: r.kind.Relations, cloud: r.kind.Cloud, key: r.kind.Key, turns: r.turns,
		ended: r.ended, forget: r.forget, learn: r.learn,
		cascades: r.kind.Cascades, owned: slices.ContainsFunc(r.kind.Relations, isOwner),
	}
	if r.kind.Uses != nil {
		k.uses = func(obj Object) []Resource { return r.kind.Uses(obj.(K)) }
	}
	e.addKind(k)
	r.life = r.steps()
	return engine.Kind{
		GVK: k.gvk, Example: r.empty(), Relations: k.relations, Finalizer: r.finalizer, Ready: isReady,
		Declares: func(id object.ID, obj client.Object, edges []relation.Edge) []relation.Edge {
			return e.declares(k, id, obj, edges)
		},
		Observe:  func(id object.ID, c watch.Change[client.Object]) { e.observe(k, id, c) },
		Concerns: e.concernsItself, Writes: &r.writes, Reconciler: r, Workers: crowd * e.Workers,
	}
}

// addKind adds a kind to Engine.kinds, in the place of the same kind in a version that is served no
// more.
func (e *Engine) addKind(k *kind) {
	for {
		before := e.kinds.Load()
		former := func(other *kind) bool { return other.gk() == k.gk() }
		all := append(slices.DeleteFunc(slices.Clone(*before), former), k)
		if e.kinds.CompareAndSwap(before, &all) {
			return
		}
	}
}

// Start adds informers, controllers and guards to the manager.
func (e *Engine) Start(ctx context.Context) error {
	for _, tasks := range e.tasks {
		if err := e.mgr.Add(tasks); err != nil {
			return fmt.Errorf("add tasks: %w", err)
		}
	}
	return e.core.Start(ctx)
}

// isReady reports whether an object can be referred to, and the id of its resource.
func isReady(obj client.Object) (id string, ready bool) {
	o := obj.(Object)
	return idOf(o), meta.IsStatusConditionTrue(o.GetExternalStatus().Conditions, condition.Available)
}

// observe updates the record of an object after a change.
func (e *Engine) observe(k *kind, id object.ID, c watch.Change[client.Object]) {
	if k.owned && lostFinalizer(c) {
		e.wakeOwners(k, c.Old)
	}
	if !c.Deleted() {
		one := e.records.learn(id, c.New.GetUID())
		e.occupy(k, one, c.New)
		k.learn(one, c.New, k.cloudOf(c.New.(Object)))
		return
	}
	if !c.Missed {
		k.ended(id, c.Old)
	}
	e.requeueOwners(c.Old)
	k.forget(e.records.of(id, c.Old.GetUID()))
}

// requeueOwners requeues the owners of an object that was deleted, such as the Subnet of a
// RouterInterface, so that they compose the object anew. An owner need not be the controller:
// other operators of the same API write plain owner references.
func (e *Engine) requeueOwners(deleted client.Object) {
	for _, owner := range deleted.GetOwnerReferences() {
		gk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		id := object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: deleted.GetNamespace(), Name: owner.Name}
		e.requeueAltered(id)
	}
}

// declares adds two sorts of edges to an object's edges: to objects whose resources the
// object's resource still uses although the spec no longer names them
// (status.observedDependencies), and the edges of deleted objects of the same name (stray.go).
func (e *Engine) declares(k *kind, id object.ID, obj client.Object, edges []relation.Edge) []relation.Edge {
	if obj != nil {
		edges = append(edges, e.observedEdges(k, id, obj, edges)...)
	}
	for _, stray := range e.records.straysOf(id) {
		named := e.core.Edges(k.gk(), stray.stray)
		edges = append(append(edges, named...), e.observedEdges(k, id, stray.stray, named)...)
	}
	return edges
}

// observedEdges returns edges to the targets in status.observedDependencies that are not among
// the edges named by the spec. The status does not tell the relation, so that such a target is an
// edge of one relation for each finalizer.
func (e *Engine) observedEdges(k *kind, id object.ID, obj client.Object, named []relation.Edge) []relation.Edge {
	var edges []relation.Edge
	for _, d := range obj.(Object).GetExternalStatus().ObservedDependencies {
		target, ok := e.observed(id, d)
		isNamed := slices.ContainsFunc(named, func(e relation.Edge) bool { return e.Target.ID == target })
		if !ok || isNamed {
			continue
		}
		for _, r := range k.guarding() {
			edges = append(edges, relation.Edge{
				Role: r.Role, Relation: r.Name, Declarer: id, Source: relation.Named(id),
				Target: relation.Named(target), Field: "status.observedDependencies",
			})
		}
	}
	return edges
}

// guarding returns one relation for each finalizer by which objects of the kind guard others.
func (k *kind) guarding() []relation.Relation {
	var all []relation.Relation
	for _, r := range k.relations {
		same := func(other relation.Relation) bool { return other.Finalizer == r.Finalizer }
		if r.Finalizer != "" && !slices.ContainsFunc(all, same) {
			all = append(all, r)
		}
	}
	return all
}

// concernsItself reports whether a change of an object requeues the object. Labels and annotations
// have no effect on a resource, but for isReleased.
func (e *Engine) concernsItself(old, now client.Object) bool {
	return old.GetGeneration() != now.GetGeneration() ||
		!slices.Equal(old.GetFinalizers(), now.GetFinalizers()) ||
		!equality.Semantic.DeepEqual(old.GetOwnerReferences(), now.GetOwnerReferences()) ||
		(old.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) ||
		e.isReleased(old, now)
}

// isReleased reports whether a person removed the intent of another object from an object that
// was restored from a backup.
func (e *Engine) isReleased(old, now client.Object) bool {
	key := IntentAnnotation(e.Group)
	return old.GetAnnotations()[key] != now.GetAnnotations()[key] && isForeign(e.Group, old)
}

// empty returns an empty object of the kind.
func (r *reconciler[K, R]) empty() K {
	if r.kind.New != nil {
		return r.kind.New()
	}
	return reflect.New(reflect.TypeFor[K]().Elem()).Interface().(K)
}
