package oam

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// workers is how many objects of a kind are reconciled at the same time.
const workers = 8

// environment is what the reconcilers of the pack share.
type environment struct {
	engine   *engine.Engine
	watcher  *relation.Watcher
	applier  *apply.Applier
	live     client.Client
	reviewer *authorise.Reviewer
	log      logr.Logger
	// trust says that authors are not asked (--oam-trust-rbac). recorded says that the webhook
	// records authors.
	// once says that an object is applied once for each generation (--oam-apply-once-only).
	trust, recorded, once bool
	// revisions has the ControllerRevisions of Components.
	revisions toolscache.Indexer
	// inventories has the inventory of each parent after its last pass, with the uid, the hash and the
	// mark of each object, for which the published statuses have no fields. After a restart each object
	// is applied once more, which changes nothing.
	inventories sync.Map // of []apply.Entry by object.ID
	// exchanging has the applications that pass data: every change of one of their objects concerns
	// them.
	exchanging sync.Map // by object.ID
	// waiters are the parents that a foreign object blocks.
	waiters apply.Waiters
	// stores wake the applications that read data from them.
	stores apply.Waiters
	// definitions wake the traits and scopes that have read them.
	definitions apply.Waiters
	// parents are the kinds whose objects control others.
	parents []schema.GroupKind
}

// setup adds the controllers and the admission handlers of the pack to a manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	r := &environment{
		engine: engine.New(mgr, engine.Options{Name: group, Live: env.Live}), watcher: env.Watcher, live: env.Live,
		log:      mgr.GetLogger().WithName("events").WithValues("pack", "oam"),
		reviewer: env.Reviewer, recorded: env.Enforcement == pack.ByWebhook,
		trust: options.TrustRBAC, once: options.ApplyOnce,
		applier: &apply.Applier{
			Client: env.Live, FieldOwner: fieldOwner, View: apply.Watched{Watcher: env.Watcher},
			Rivals: &apply.Rivals{Client: env.Live, Within: rivalry},
		},
		parents: []schema.GroupKind{applicationKind.GroupKind(), containerizedKind.GroupKind()},
	}
	env.Watcher.Keep(keep)
	env.Watcher.OnObject(r.objectChanged)
	env.Watcher.OnKind(r.kindChanged)
	for _, k := range r.kinds() {
		r.engine.Add(k)
	}
	if err := r.openRevisions(ctx, mgr, env); err != nil {
		return err
	}
	if err := r.engine.Start(ctx); err != nil {
		return err
	}
	if err := ctrlmetrics.Registry.Register(r.engine.Metrics("oam")); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if env.Enforcement == pack.ByWebhook {
		a := &admitter{r, env.Operators}
		server := mgr.GetWebhookServer()
		server.Register(authorsPath, &webhook.Admission{Handler: admission.HandlerFunc(a.mutate)})
		server.Register(validatePath, &webhook.Admission{Handler: admission.HandlerFunc(a.validate)})
	}
	return nil
}

// kinds returns the kinds of the pack with their reconcilers.
func (r *environment) kinds() []engine.Kind {
	application, component := &reconcile.Writes{}, &reconcile.Writes{}
	workload, scaler, scope := &reconcile.Writes{}, &reconcile.Writes{}, &reconcile.Writes{}
	return []engine.Kind{
		{
			GVK: applicationKind, Example: &oamv1alpha2.ApplicationConfiguration{}, Writes: application, Workers: workers,
			Relations:  []relation.Relation{applicationComponent, applicationRevision, applicationScope},
			Declares:   r.usedDefinitions,
			Reconciler: newApplications(r, application).pass(),
		},
		{
			GVK: componentKind, Example: &oamv1alpha2.Component{}, Writes: component, Workers: workers,
			Ready: isRecorded, Reconciler: newComponents(r, component),
		},
		{
			GVK: containerizedKind, Example: &oamv1alpha2.ContainerizedWorkload{}, Writes: workload, Workers: workers,
			Reconciler: newWorkloads(r, workload),
		},
		{
			GVK: scalerKind, Example: &oamv1alpha2.ManualScalerTrait{}, Writes: scaler, Workers: workers,
			Relations: []relation.Relation{scalerWorkload}, Reconciler: newScalers(r, scaler),
		},
		{
			GVK: healthScopeKind, Example: &oamv1alpha2.HealthScope{}, Writes: scope, Workers: workers,
			Relations: []relation.Relation{scopeWorkload}, Ready: refsOf, Reconciler: newScopes(r, scope),
		},
		{
			GVK: workloadDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.WorkloadDefinition{},
			Observe: func(id object.ID, _ watch.Change[client.Object]) { r.requeue(r.definitions.WaitingFor(id)...) },
		},
		{GVK: traitDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.TraitDefinition{}, Ready: generationOf},
		{GVK: scopeDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.ScopeDefinition{}, Ready: generationOf},
	}
}

// generationOf has objects that refer to a definition woken when its spec changes.
func generationOf(obj client.Object) (string, bool) { return fmt.Sprint(obj.GetGeneration()), true }

// openRevisions opens the informer of the ControllerRevisions of Components.
func (r *environment) openRevisions(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
	ofComponents, err := labels.Parse(oamv1alpha2.LabelComponent)
	if err != nil {
		return fmt.Errorf("select ControllerRevisions: %w", err)
	}
	c, err := env.NewCache(cache.Options{ByObject: map[client.Object]cache.ByObject{
		&appsv1.ControllerRevision{}: {Label: ofComponents},
	}})
	if err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	store, err := watch.Open(ctx, c, revisionKind.GroupKind(), &appsv1.ControllerRevision{})
	if err != nil {
		return err
	}
	if err := store.AddIndexers(toolscache.Indexers{byComponent: indexRevision}); err != nil {
		return fmt.Errorf("watch ControllerRevisions: %w", err)
	}
	r.revisions = store.GetIndexer()
	r.engine.Add(engine.Kind{
		GVK: revisionKind, Example: &appsv1.ControllerRevision{}, Store: store.GetStore(), Ready: generationOf,
	})
	if _, err := store.Listen(watch.Handler(func(c watch.Change[client.Object]) {
		r.engine.Observe(revisionKind.GroupKind(), c)
		r.engine.Requeue(componentOf(c.Object()))
	})); err != nil {
		return err
	}
	return mgr.Add(c)
}

// objectChanged wakes the objects of the pack that a change of a workload, a trait or a child
// concerns: its controller, and the traits and scopes that act on it or on its controller. The controller
// that an object has lost is concerned too.
func (r *environment) objectChanged(c relation.Change) {
	obj := c.Object()
	if c.New == nil {
		r.applier.Gone(obj.ID, obj.UID)
	}
	r.requeue(append(r.waiters.WaitingFor(obj.ID), r.stores.WaitingFor(obj.ID)...)...)
	owners, concerns := ownersOf(c), apply.Concerns(c)
	for _, owner := range owners {
		_, exchanges := r.exchanging.Load(owner)
		if exchanges || (concerns && slices.Contains(r.parents, owner.GroupKind())) {
			r.engine.Requeue(owner)
		}
	}
	chooses := concerns || isRelabelled(c)
	if !chooses && !isHealthChange(c) {
		return
	}
	for _, id := range append(owners, obj.ID) {
		for _, source := range r.engine.Sources(id, "") {
			if chooses || source.GroupKind() == healthScopeKind.GroupKind() {
				r.engine.Requeue(source)
			}
		}
	}
}

func (r *environment) requeue(ids ...object.ID) {
	for _, id := range ids {
		r.engine.Requeue(id)
	}
}

// kindChanged wakes the users of a kind that was listed, installed or removed.
func (r *environment) kindChanged(gk schema.GroupKind) {
	for _, user := range r.watcher.Users(gk) {
		if user.GroupKind() == applicationKind.GroupKind() {
			r.engine.Declare(user) // With the names of the definitions of the kind.
		}
		r.engine.Requeue(user)
	}
}

// watching waits until the objects of some kinds are known.
func (r *environment) watching(user object.ID, kinds ...schema.GroupKind) reconcile.Outcome {
	r.watcher.Use(user, kinds...)
	return r.listed(kinds...)
}

// listed waits until kinds in use are listed.
func (r *environment) listed(kinds ...schema.GroupKind) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, gk := range kinds {
		switch problem := r.watcher.Problem(gk); {
		case r.watcher.Ready(gk):
		case problem != nil:
			outcome = outcome.And(reconcile.Wait(reasonError, "%s can't be watched: %s", gk, problem))
		default:
			outcome = outcome.And(reconcile.Wait(reasonPassing, "waiting for the list of %s", gk))
		}
	}
	return outcome
}
