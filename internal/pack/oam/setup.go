package oam

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/revision"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// workers is how many objects of a kind are reconciled at the same time.
const workers = 8

// environment has the fields that all reconcilers of the pack share.
type environment struct {
	engine  *engine.Engine
	watcher *relation.Watcher
	applier *apply.Applier
	live    client.Client
	events  events.EventRecorder
	permit  authorise.Permit
	log     logr.Logger
	// once says that apply writes an object once for each generation (--oam-apply-once-only).
	once bool
	// history has the ControllerRevisions of Components.
	history *revision.History
	// inventories has the inventory of each parent after its last pass, with the uid, the hash and
	// the mark of each object: the published statuses have no fields for these values. After a
	// restart the operator applies each object once more, which changes nothing.
	inventories sync.Map // of []apply.Entry by object.ID
	// traited says of each ContainerizedWorkload of an application whether the ContainerizedWorkload has traits.
	traited sync.Map // of bool by object.ID
	// exchanging has the ApplicationConfigurations that pass data: every change of an object of
	// such an ApplicationConfiguration requeues it.
	exchanging sync.Map // by object.ID
	// workloads finds the workloads of traits and scopes, with their children.
	workloads *oam.Watched
}

// setup adds the controllers and the admission handlers of the pack to a manager.Manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	r := &environment{
		watcher: env.Watcher, live: env.Live,
		log:    mgr.GetLogger().WithName("changes").WithValues("pack", "oam"),
		events: mgr.GetEventRecorder(fieldOwner), once: options.ApplyOnce,
		permit: authorise.Permit{
			Reviewer: env.Reviewer, Kinds: env.Watcher, Recorded: env.Enforcement == pack.ByWebhook, Trust: options.TrustRBAC,
			Reason: reasonError, Unrecorded: unrecorded, Refused: env.Refused,
		},
		applier: &apply.Applier{
			Client: env.Live, FieldOwner: fieldOwner, View: apply.Watched{Watcher: env.Watcher},
			Rivals: &apply.Rivals{Client: env.Live, Within: rivalry},
		},
	}
	r.history = &revision.History{
		Parent: componentKind, Label: oamv1alpha2.LabelComponent, Limit: revisionLimit,
		Client: env.Live, FieldOwner: fieldOwner, Reason: reasonError,
	}
	r.workloads = &oam.Watched{Watcher: env.Watcher, Definition: r.workloadDefinition}
	env.Watcher.Keep(keep)
	env.Watcher.OnObject(r.gone)
	r.engine = engine.New(mgr, engine.Options{
		Name: group, Live: env.Live, Watcher: env.Watcher,
		Reasons: engine.Reasons{Waiting: reasonError},
	})
	for _, k := range r.kinds() {
		r.engine.Add(k)
	}
	if err := r.openRevisions(ctx, mgr, env); err != nil {
		return err
	}
	if err := r.engine.Start(ctx); err != nil {
		return err
	}
	if err := pack.RegisterMetrics(r.engine.Metrics("oam")); err != nil {
		return err
	}
	if env.Enforcement == pack.ByWebhook {
		a := &admitter{r, env.Operators, env.Accounts}
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
			Relations: []relation.Relation{applicationComponent, applicationRevision, applicationScope},
			Declares:  r.usedObjects, Composed: r.composedApplication,
			Reconciler: newApplications(r, application).pass(),
		},
		{
			GVK: componentKind, Example: &oamv1alpha2.Component{}, Writes: component, Workers: workers,
			Ready: isRecorded, Reconciler: newComponents(r, component),
		},
		{
			GVK: containerizedKind, Example: &oamv1alpha2.ContainerizedWorkload{}, Writes: workload, Workers: workers,
			Composed: composedWorkload, Reconciler: newWorkloads(r, workload),
		},
		{
			GVK: scalerKind, Example: &oamv1alpha2.ManualScalerTrait{}, Writes: scaler, Workers: workers,
			Relations: []relation.Relation{scalerWorkload}, Composed: composedTrait, Reconciler: newScalers(r, scaler),
		},
		{
			GVK: healthScopeKind, Example: &oamv1alpha2.HealthScope{}, Writes: scope, Workers: workers,
			Relations: []relation.Relation{scopeWorkload}, Ready: refsOf, Composed: composedScope,
			Reconciler: newScopes(r, scope),
		},
		{
			GVK: workloadDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.WorkloadDefinition{},
			Observe: func(id object.ID, _ watch.Change[client.Object]) {
				for _, user := range r.workloads.Users(id.Name) {
					r.engine.Requeue(user)
				}
			},
		},
		{GVK: traitDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.TraitDefinition{}, Ready: generationOf},
		{GVK: scopeDefinitionKind, ClusterScoped: true, Example: &oamv1alpha2.ScopeDefinition{}, Ready: generationOf},
	}
}

// generationOf implements engine.Kind.Ready: a change of a definition's spec requeues the objects
// that refer to the definition.
func generationOf(obj client.Object) (string, bool) { return fmt.Sprint(obj.GetGeneration()), true }

// openRevisions opens the informer of the ControllerRevisions of Components.
func (r *environment) openRevisions(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
	c, err := r.history.Open(ctx, env.NewCache)
	if err != nil {
		return err
	}
	r.engine.Add(engine.Kind{
		GVK: revisionKind, Example: &appsv1.ControllerRevision{}, Store: r.history.GetStore(), Ready: generationOf,
	})
	if _, err := r.history.Listen(watch.Handler(func(c watch.Change[client.Object]) {
		r.engine.Observe(revisionKind.GroupKind(), c)
		r.engine.Requeue(r.history.ParentOf(c.Object()))
	})); err != nil {
		return err
	}
	return mgr.Add(c)
}

// gone reports deleted objects to apply.Applier, before the engine.Engine gets the same
// relation.Change.
func (r *environment) gone(c relation.Change) {
	if c.New == nil {
		r.applier.Gone(c.Old.ID, c.Old.UID)
	}
}

// composedApplication implements engine.Kind.Composed: for an ApplicationConfiguration that passes
// data, every change of its objects counts.
func (r *environment) composedApplication(id object.ID, c relation.Change) bool {
	_, exchanges := r.exchanging.Load(id)
	return exchanges || apply.Concerns(c)
}

func composedWorkload(_ object.ID, c relation.Change) bool { return apply.Concerns(c) }

// composedTrait implements engine.Kind.Composed: a trait selects children by labels, so a change of
// labels counts.
func composedTrait(_ object.ID, c relation.Change) bool { return apply.Concerns(c) || isRelabelled(c) }

func composedScope(id object.ID, c relation.Change) bool {
	return composedTrait(id, c) || isHealthChange(c)
}
