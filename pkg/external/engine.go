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
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options are the options of an [Engine].
type Options struct {
	// Group is the prefix of finalizers, annotations and field owners.
	Group string
	// Finalizer is the operator's finalizer on all objects. If Finalizer is empty, each kind has its own:
	// Group/kind, such as example.com/network.
	Finalizer string
	// Noun is the name of a resource in conditions, such as "OpenStack resource".
	Noun string
	// Summary adds the conditions Ready and Drifted (condition.External). The published API lacks both.
	Summary bool
	// Specific gives the condition Progressing the reason for which an object waits, such as
	// condition.ReasonWaitingForOwner, in place of ReasonProgressing and ReasonTransientError.
	Specific bool
	// Adopt is the field by which a user lets an object take over a resource that exists. Empty means
	// spec.adopt.
	Adopt string
	// OwnerLabels is passed to engine.Options.
	OwnerLabels string
	// Catalog, Discover, Guards and Health are passed to engine.Options, for kinds that are installed later.
	// Discover may call [Add].
	Catalog  *watch.Catalog
	Discover func(watch.Mapping)
	Guards   []string
	Health   *watch.Health
	// Cloud is the name of the cloud in conditions, such as "OpenStack".
	Cloud string
	// Workers is the number of objects of a kind, in a namespace and at a place, that run at the same time.
	// Zero means 8. A kind has 3 times as many workers for all its objects (crowd in turns.go).
	Workers int
	// Pooled makes all kinds share the workers of a single kind. Without Pooled each kind has workers of its
	// own, and the idle workers of hundreds of kinds take memory.
	Pooled bool
	// Resync is how often resources are compared with their specs (reconciler.period). Zero means 10 minutes,
	// negative means never.
	Resync time.Duration
	// Live reads and writes without a cache.
	Live client.Client
	// Events receives news that conditions do not show, such as DeletedExternally. Events may be nil.
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Account begins an account of the memory of a list. [Lister.List] reads the account from the returned
	// context. The engine calls end when the list is dropped (view.drop). Account may be nil.
	Account func(context.Context) (with context.Context, end func())
	// Tenant adds a namespace to the context of the [Actuator], so that namespaces get fair shares of calls.
	// Tenant may be nil.
	Tenant func(ctx context.Context, namespace string) context.Context
}

// Engine runs the kinds of a pack: call [New], then [Add] for each kind, then [Engine.Start]. Package
// engine has the watches, the index of edges, the waits and the guards. Package external adds the calls to
// the API outside of Kubernetes.
type Engine struct {
	Options

	mgr  manager.Manager
	core *engine.Engine
	// kinds are in the order of Add. Engine.addKind replaces the whole list.
	kinds atomic.Pointer[[]*kind]
	tasks []Tasks

	records *records
	// turns serve all kinds if Options.Pooled is set.
	turns *turns
}

// kind is a kind of the pack, such as Subnet, without the type parameters of [Kind].
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

// New returns an [Engine] without kinds.
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

// Watch adds a kind of another pack to which objects refer, such as Secret. The engine watches only the
// metadata of the kind's objects. Watch calls gone with the object.ID of each deleted object; gone must
// not block.
func (e *Engine) Watch(gvk schema.GroupVersionKind, gone func(object.ID)) {
	e.core.Add(engine.Kind{GVK: gvk, Observe: func(id object.ID, c watch.Change[client.Object]) {
		if c.Deleted() {
			gone(id)
		}
	}})
}

// finalizer returns the operator's finalizer for objects of a kind ([Options.Finalizer]).
func (e *Engine) finalizer(gvk schema.GroupVersionKind) string {
	return cmp.Or(e.Finalizer, e.Group+"/"+strings.ToLower(gvk.Kind))
}

// kindOf returns the kind of the pack with a group and kind, or nil.
func (e *Engine) kindOf(gk schema.GroupKind) *kind {
	all := *e.kinds.Load()
	if i := slices.IndexFunc(all, func(k *kind) bool { return k.gk() == gk }); i >= 0 {
		return all[i]
	}
	return nil
}

// Add adds a kind, before [Engine.Start] or in [Options.Discover]. A kind with [Kind.Tasks] is added
// before Start.
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

// register calls Engine.addKind, and returns the engine.Kind for package engine.
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

// addKind adds a kind to Engine.kinds. The kind replaces the same GroupKind in a version that is no longer
// served.
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

// isReady reports whether an object has Available=True, so that other objects can refer to the object, and
// returns idOf for the object.
func isReady(obj client.Object) (id string, ready bool) {
	o := obj.(Object)
	return idOf(o), meta.IsStatusConditionTrue(o.GetExternalStatus().Conditions, condition.Available)
}

// observe updates the record of an object after a change.
func (e *Engine) observe(k *kind, id object.ID, c watch.Change[client.Object]) {
	if k.owned && c.Old != nil && guard.LostFinalizer(c.Old, c.New) {
		e.wakeOwners(k.gk(), c.Old)
	}
	if !c.Deleted() {
		one := e.records.learn(id, c.New.GetUID())
		e.lookWanted(one, c.Old, c.New)
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

// requeueOwners requeues the owners of a deleted object, so that [Kind.Compose] creates the object again.
// For example, a Subnet is requeued after the end of its RouterInterface. requeueOwners does not use
// metav1.GetControllerOf, because other operators of the same API write plain owner references.
func (e *Engine) requeueOwners(deleted client.Object) {
	for _, owner := range deleted.GetOwnerReferences() {
		gk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		id := object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: deleted.GetNamespace(), Name: owner.Name}
		e.requeueAltered(id)
	}
}

// declares adds two sorts of edges to an object's edges. Engine.observedEdges lead to objects whose
// resources are still in use although the spec no longer names the objects (status.observedDependencies).
// The edges of strays belong to deleted objects of the same name (stray.go).
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

// observedEdges returns edges to the targets in status.observedDependencies that the spec does not name.
// The status does not record the relation, so such a target gets an edge for each Relation.Finalizer of
// the kind (kind.guarding).
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

// guarding returns a relation for each finalizer by which objects of the kind guard targets.
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

// concernsItself reports whether a change of an object requeues the object. Labels and annotations do not
// affect a resource, except in Engine.isReleased and Engine.lookWanted.
func (e *Engine) concernsItself(old, now client.Object) bool {
	return old.GetGeneration() != now.GetGeneration() ||
		!slices.Equal(old.GetFinalizers(), now.GetFinalizers()) ||
		!equality.Semantic.DeepEqual(old.GetOwnerReferences(), now.GetOwnerReferences()) ||
		(old.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) ||
		e.isReleased(old, now)
}

// isReleased reports whether a user removed the intent of another object from a restored object
// (intent.go).
func (e *Engine) isReleased(old, now client.Object) bool {
	key := IntentAnnotation(e.Group)
	return old.GetAnnotations()[key] != now.GetAnnotations()[key] && isForeign(e.Group, old)
}

// empty returns [Kind.New], or a new value of the Go type K.
func (r *reconciler[K, R]) empty() K {
	if r.kind.New != nil {
		return r.kind.New()
	}
	return reflect.New(reflect.TypeFor[K]().Elem()).Interface().(K)
}
