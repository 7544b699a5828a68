package oam

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// childKinds are the kinds of the children of a ContainerizedWorkload.
var childKinds = []schema.GroupVersionKind{deploymentKind, serviceKind, configMapKind}

type workloadPass = pass[*oamv1alpha2.ContainerizedWorkload]

// workloadReconciler creates a Deployment, a Service and ConfigMaps for a ContainerizedWorkload.
type workloadReconciler struct{ *environment }

func newWorkloads(e *environment, writes *reconcile.Writes) *reconcile.Pass[*workloadPass] {
	r := workloadReconciler{e}
	return controller[*oamv1alpha2.ContainerizedWorkload]{
		environment: e, writer: e.writerOf(writes),
		status: func(w *oamv1alpha2.ContainerizedWorkload) *oamv1alpha2.ConditionedStatus {
			return &w.Status.ConditionedStatus
		},
		steps: []reconcile.Step[*workloadPass]{
			{Name: "watch kinds", Run: func(_ context.Context, p *workloadPass) reconcile.Outcome {
				return r.engine.Use(p.id, groupKinds(childKinds)...)
			}},
			{Name: "check rights", Run: func(ctx context.Context, p *workloadPass) reconcile.Outcome {
				return r.permittedFor(ctx, p.obj, "create", childKinds...)
			}},
			{Name: "apply", Run: r.apply},
		},
	}.pass()
}

func groupKinds(all []schema.GroupVersionKind) []schema.GroupKind {
	kinds := make([]schema.GroupKind, 0, len(all))
	for _, gvk := range all {
		kinds = append(kinds, gvk.GroupKind())
	}
	return kinds
}

// inventory returns the objects that a ContainerizedWorkload has: the inventory of the last pass in
// memory or, after a restart, all objects that the ContainerizedWorkload controls.
func (r workloadReconciler) inventory(p *workloadPass) []apply.Entry {
	if known, ok := r.inventories.Load(p.id); ok {
		return known.([]apply.Entry)
	}
	var all []apply.Entry
	for _, gvk := range childKinds {
		found, _ := r.watcher.List(relation.Ref{
			ID: in(gvk, p.obj.Namespace, ""), Selector: &relation.Selector{Controller: p.obj.UID},
		})
		for _, obj := range found {
			all = append(all, apply.Entry{ID: obj.ID, Version: gvk.Version, UID: obj.UID})
		}
	}
	return all
}

func (r workloadReconciler) apply(ctx context.Context, p *workloadPass) reconcile.Outcome {
	var want []apply.Object
	for _, obj := range oam.Translate(p.obj) {
		content, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return reconcile.Fail(reasonError, err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetOwnerReferences(nil) // The Applier adds the owner.
		unstructured.RemoveNestedField(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
		want = append(want, apply.Object{Unstructured: u, Yields: r.hasTraits(p)})
	}
	version, kind := containerizedKind.ToAPIVersionAndKind()
	result, err := r.applier.Apply(ctx, apply.Request{
		Owner: metav1.OwnerReference{APIVersion: version, Kind: kind, Name: p.obj.Name, UID: p.obj.UID},
		Have:  r.inventory(p), Want: want,
		// inventory finds the children by their owner, so Record writes nothing.
		Record: func(context.Context, []apply.Entry) error { return nil },
	})
	r.inventories.Store(p.id, result.Inventory)
	p.obj.Status.Resources = nil
	for _, gvk := range []schema.GroupVersionKind{deploymentKind, serviceKind} {
		i := slices.IndexFunc(result.Inventory, func(e apply.Entry) bool { return e.GroupKind() == gvk.GroupKind() })
		if i < 0 || result.Inventory[i].UID == "" {
			continue
		}
		e := result.Inventory[i]
		p.obj.Status.Resources = append(p.obj.Status.Resources, oamv1alpha2.TypedReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: e.Name, UID: e.UID,
		})
	}
	r.logChanges(p.id, result.Changes)
	p.left = result.Changes.Left()
	return r.obstacles(p.id, err, result)
}

// bindTraits records whether a workload has traits in its application. A ContainerizedWorkload is reconciled again when
// that changes: its children yield to field managers only for as long as the workload has a trait.
func (e *environment) bindTraits(workload object.ID, has bool) {
	if workload.GroupKind() != containerizedKind.GroupKind() {
		return
	}
	if before, known := e.traited.Swap(workload, has); known && before != has {
		e.engine.Requeue(workload)
	}
}

// hasTraits reports whether a ContainerizedWorkload has traits in its application. After a restart, and before the
// first pass over the application, the status of the application tells.
func (r workloadReconciler) hasTraits(p *workloadPass) bool {
	if has, known := r.traited.Load(p.id); known {
		return has.(bool)
	}
	owner := metav1.GetControllerOf(p.obj)
	if owner == nil || owner.Kind != applicationKind.Kind {
		return false
	}
	app, _ := r.engine.Get(in(applicationKind, p.obj.Namespace, owner.Name)).(*oamv1alpha2.ApplicationConfiguration)
	return app != nil && app.UID == owner.UID &&
		slices.ContainsFunc(app.Status.Workloads, func(w oamv1alpha2.WorkloadStatus) bool {
			return len(w.Traits) > 0 && idOf(w.Reference, p.obj.Namespace) == p.id
		})
}

// obstacles returns the Outcome of Applier.Apply for a parent.
func (e *environment) obstacles(parent object.ID, err error, result apply.Result) reconcile.Outcome {
	outcome := reconcile.Fail(reasonError, err)
	e.engine.WaitFor(parent, result.Changes.Of(apply.Foreign, apply.Terminating)...)
	for _, c := range result.Changes {
		outcome = outcome.And(c.Obstacle(reasonError, parent.Kind))
	}
	if !outcome.IsDone() {
		return outcome.And(reconcile.After(result.Recheck))
	}
	return outcome
}
