package oam

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// applicationReconciler reconciles ApplicationConfigurations.
type applicationReconciler struct {
	*environment

	writer reconcile.Writer
}

func newApplications(e *environment, writes *reconcile.Writes) *applicationReconciler {
	return &applicationReconciler{environment: e, writer: e.writerOf(writes)}
}

// applicationPass is the state of one pass over an ApplicationConfiguration.
type applicationPass struct {
	*oamv1alpha2.ApplicationConfiguration

	id       object.ID
	recorded *oamv1alpha2.ApplicationConfiguration
	app      application
	// former is status.workloads at the start of the pass. The status keeps an entry until its
	// objects are deleted: after a restart, the operator reads from former which objects to delete.
	former []oamv1alpha2.WorkloadStatus
	// formerHistory is status.historyWorkloads at the start of the pass.
	formerHistory []oamv1alpha2.HistoryWorkload
	// history are the workloads of other revisions that the pass keeps.
	history []oamv1alpha2.HistoryWorkload
	// have is the result of inventory.
	have []apply.Entry
	// skip are objects that this pass does not apply.
	skip []object.ID
	// left says which fields of the workloads are left to other field managers.
	left string
}

func (r *applicationReconciler) pass() *reconcile.Pass[*applicationPass] {
	return &reconcile.Pass[*applicationPass]{
		Read: r.read,
		Begin: func(id object.ID, obj client.Object) *applicationPass {
			recorded := obj.(*oamv1alpha2.ApplicationConfiguration)
			return &applicationPass{
				ApplicationConfiguration: recorded.DeepCopy(), id: id, recorded: recorded,
				former: recorded.Status.Workloads, formerHistory: recorded.Status.HistoryWorkloads,
			}
		},
		Conclude: r.conclude, Forget: r.forget, Writes: r.writer.Writes,
		Live: []reconcile.Step[*applicationPass]{
			{Name: "add finalizer", Run: r.updateFinalizer},
			{Name: "render", Run: r.render},
			{Name: "check paths", Run: r.checkPaths},
			{Name: "check rights", Run: r.checkRights},
			{Name: "watch kinds", Run: r.watchKinds},
			{Name: "pass data", Run: r.passData},
			{Name: "apply", Run: r.apply},
			{Name: "join scopes", Run: r.joinScopes},
			{Name: "forget former workloads", Run: r.forgetFormer},
		},
		Ending: []reconcile.Step[*applicationPass]{
			{Name: "leave scopes", Run: r.leaveScopes},
			{Name: "remove finalizer", Run: r.removeFinalizer},
		},
	}
}

func (r *applicationReconciler) forget(_ context.Context, id object.ID) {
	r.drop(id)
	r.exchanging.Delete(id)
}

// updateFinalizer adds the finalizer to an ApplicationConfiguration with scopes.
func (r *applicationReconciler) updateFinalizer(ctx context.Context, p *applicationPass) reconcile.Outcome {
	if slices.ContainsFunc(p.Spec.Components, func(c oamv1alpha2.ApplicationConfigurationComponent) bool {
		return len(c.Scopes) > 0
	}) {
		finalizer.Add(p.ApplicationConfiguration)
	}
	return r.writeObject(ctx, p)
}

func (r *applicationReconciler) removeFinalizer(ctx context.Context, p *applicationPass) reconcile.Outcome {
	finalizer.Remove(p.ApplicationConfiguration)
	return r.writeObject(ctx, p)
}

func (r *applicationReconciler) writeObject(ctx context.Context, p *applicationPass) reconcile.Outcome {
	wrote, err := r.writer.Object(ctx, p.id, p.recorded, p.ApplicationConfiguration)
	if wrote {
		status := p.recorded.Status
		p.recorded = p.DeepCopy()
		p.recorded.Status = status
	}
	return reconcile.Fail(reasonError, client.IgnoreNotFound(err))
}

// render renders the application from Components and definitions.
func (r *applicationReconciler) render(_ context.Context, p *applicationPass) reconcile.Outcome {
	var err error
	from := r.sourcesIn(p.Namespace)
	if p.app, err = render(p.ApplicationConfiguration, from); err != nil {
		// watcher.Use requeues the ApplicationConfiguration when a kind in from.asked is installed.
		r.watcher.Use(p.id, slices.Collect(maps.Keys(from.asked))...)
		return unrendered(err)
	}
	return reconcile.Outcome{}
}

// unrendered returns why an application can't be rendered. A revision that is on its way is no error.
func unrendered(err error) reconcile.Outcome {
	if _, waits := errors.AsType[*noRevisionError](err); waits {
		return reconcile.Wait(reasonError, "%s", err).Passing()
	}
	return reconcile.Refuse(reasonError, "%s", err)
}

// watchKinds watches the kinds of all objects of the application, and of its former objects. The
// pass does not wait for the kinds of scopes: a scope that is created later requeues the
// ApplicationConfiguration.
func (r *applicationReconciler) watchKinds(_ context.Context, p *applicationPass) reconcile.Outcome {
	p.have = r.inventory(p)
	var kinds, scopes []schema.GroupKind
	for _, o := range p.app.objects() {
		kinds = append(kinds, o.GroupVersionKind().GroupKind())
	}
	for _, n := range p.app.nodes() {
		for _, gvk := range append(n.Reads(), n.Creates()...) {
			kinds = append(kinds, gvk.GroupKind())
		}
	}
	for _, e := range p.have {
		if _, err := r.watcher.Mapping(e.GroupKind().WithVersion("")); err == nil {
			kinds = append(kinds, e.GroupKind()) // The objects of a removed kind are gone.
		}
	}
	for _, part := range p.app.parts {
		for _, s := range part.scopes {
			gk := idOf(s, p.Namespace).GroupKind()
			mapping, err := r.watcher.Mapping(gk.WithVersion(""))
			if (err != nil || mapping.Namespaced) && gk != healthScopeKind.GroupKind() { // The engine has HealthScopes.
				scopes = append(scopes, gk)
			}
		}
	}
	r.watcher.Use(p.id, append(scopes, kinds...)...)
	return r.engine.Listed(kinds...)
}

// objects returns the workloads and the traits.
func (a application) objects() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, p := range a.parts {
		all = append(all, p.workload)
		for _, t := range p.traits {
			all = append(all, t.object)
		}
	}
	return all
}

// conclude writes the condition Synced and the status.
func (r *applicationReconciler) conclude(
	ctx context.Context, p *applicationPass, outcome reconcile.Outcome,
) reconcile.Outcome {
	if outcome.IsPassing() || (p.DeletionTimestamp != nil && outcome.IsDone()) {
		return outcome
	}
	p.Status.ObservedGeneration = p.Generation
	if setSynced(&p.Status.ConditionedStatus, outcome, p.left) {
		r.reportOutcome(p, outcome)
	}
	return outcome.And(reconcile.Fail(reasonError, client.IgnoreNotFound(r.writeStatus(ctx, p))))
}

// writeStatus writes the status without the fields named status, which other controllers own.
func (r *applicationReconciler) writeStatus(ctx context.Context, p *applicationPass) error {
	wrote, err := r.writer.Status(ctx, p.id, p.recorded, p.ApplicationConfiguration, true)
	if wrote {
		p.recorded = p.DeepCopy()
	}
	return err
}
