package oam

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// scalerReconciler sets spec.replicas of the children of a workload, or of the workload itself if
// its WorkloadDefinition names no children.
type scalerReconciler struct {
	*environment

	// rivals has the apply.Rivals of each trait: the other clients that set spec.replicas of the
	// same objects.
	rivals sync.Map // of *apply.Rivals by the object.ID of the trait
	// yielding has the traits that yield to another trait. The deletion of any ManualScalerTrait
	// requeues the traits in yielding.
	yielding sync.Map // by the object.ID of the trait
}

type scalerPass = pass[*oamv1alpha2.ManualScalerTrait]

func newScalers(e *environment, writes *reconcile.Writes) *reconcile.Pass[*scalerPass] {
	r := &scalerReconciler{environment: e}
	return controller[*oamv1alpha2.ManualScalerTrait]{
		environment: e, writer: e.writerOf(writes), forget: r.forget,
		status: func(t *oamv1alpha2.ManualScalerTrait) *oamv1alpha2.ConditionedStatus {
			return &t.Status.ConditionedStatus
		},
		steps: []reconcile.Step[*scalerPass]{{Name: "scale", Run: r.scale}},
	}.pass()
}

func (r *scalerReconciler) forget(trait object.ID) {
	r.rivals.Delete(trait)
	r.yielding.Delete(trait)
	r.yielding.Range(func(id, _ any) bool {
		r.engine.Requeue(id.(object.ID))
		return true
	})
}

func (r *scalerReconciler) scale(ctx context.Context, p *scalerPass) reconcile.Outcome {
	r.yielding.Delete(p.id)
	id := idOf(p.obj.Spec.WorkloadReference, p.obj.Namespace)
	found := r.workloads.Units(p.id, id)[id]
	outcome := r.engine.Listed(found.Kinds...)
	switch {
	case !outcome.IsDone():
		return outcome
	case found.Workload == nil:
		return lacking("waiting for %s to be created", id.Short())
	}
	count := 0
	for _, target := range found.Targets() {
		if !r.isScalable(target) {
			continue
		}
		count++
		outcome = outcome.And(r.setReplicas(ctx, p, target))
	}
	if count == 0 && outcome.IsDone() {
		return lacking("cannot scale the resource: %s and its children have no spec.replicas", id.Short())
	}
	return outcome
}

// lacking returns an Outcome that waits for an object. Usually the operator is creating the workload.
func lacking(format string, args ...any) reconcile.Outcome {
	return reconcile.Wait(reasonError, format, args...).Passing()
}

// isScalable reports whether objects of a kind have spec.replicas: the object has the field, or its
// kind has the subresource scale.
func (r *scalerReconciler) isScalable(target relation.Object) bool {
	if s := shownOf(&target); s != nil && s.isScalable {
		return true
	}
	kind, ok := r.watcher.Kind(target.ID.GroupKind())
	return ok && kind.HasScale
}

// setReplicas applies spec.replicas with traitManager. The first apply counts as no rivalry: no
// other client has overwritten the trait, and the number is that of the object's creation.
func (r *scalerReconciler) setReplicas(ctx context.Context, p *scalerPass, target relation.Object) reconcile.Outcome {
	manager := traitManager(scalerKind, p.obj.Name)
	known, _ := r.rivals.LoadOrStore(p.id, &apply.Rivals{Client: r.live, Within: rivalry})
	rivals, spec := known.(*apply.Rivals), fmt.Sprint(p.obj.UID, p.obj.Generation, target.UID)
	s := shownOf(&target)
	isScaled := s.replicas == int64(p.obj.Spec.ReplicaCount) && s.isScalable
	switch {
	case target.Deleting:
		return reconcile.Outcome{}
	case isScaled && apply.Observe(s, manager).Mark != "":
		rivals.Applied(target.ID, spec)
		return reconcile.Outcome{}
	}
	mapping, err := r.watcher.Mapping(target.ID.GroupKind().WithVersion(""))
	if err != nil {
		return reconcile.Wait(reasonError, "%s", err)
	}
	gvk := mapping.Resource.GroupVersion().WithKind(target.ID.Kind)
	if outcome := r.checkTraits(p, target); !outcome.IsDone() {
		return outcome
	}
	if outcome := r.permittedFor(ctx, p.obj, "patch", gvk); !outcome.IsDone() {
		return outcome
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": int64(p.obj.Spec.ReplicaCount)},
	}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(target.ID.Namespace)
	u.SetName(target.ID.Name)
	u.SetUID(target.UID)
	if left := rivals.TakeBack(ctx, target.ID, spec, u, manager); len(left) > 0 {
		return reconcile.Wait(reasonError, "field manager %s sets %s of %s again and again: "+
			"the trait yields until its spec changes", left[0].Manager, left[0].Field, target.ID.Short())
	}
	err = r.live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(manager), client.ForceOwnership)
	if reconcile.IsSuperseded(err) {
		return reconcile.Wait(reasonError, "waiting for the new %s", target.ID.Short())
	}
	if apierrors.IsInvalid(err) { // Until the trait or the workload changes.
		return reconcile.Refuse(reasonError, "scale %s: %s", target.ID.Short(), err)
	}
	if err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("scale %s: %w", target.ID.Short(), err))
	}
	rivals.Applied(target.ID, spec)
	return reconcile.Outcome{}
}

// rivalry is how soon another client must set a field again to be one of apply.Rivals.
const rivalry = time.Minute

// checkTraits yields to another ManualScalerTrait that scales the object: two traits that overwrite
// each other help no user.
func (r *scalerReconciler) checkTraits(p *scalerPass, target relation.Object) reconcile.Outcome {
	own, prefix := traitManager(scalerKind, p.obj.Name), traitManager(scalerKind, "")
	for _, f := range shownOf(&target).ManagedFields {
		if f.Manager == own || !strings.HasPrefix(f.Manager, prefix) {
			continue
		}
		r.yielding.Store(p.id, nil) // Before the list, so that no deletion is missed.
		for _, other := range r.engine.List(scalerKind.GroupKind()) {
			if other.GetNamespace() == p.obj.Namespace && traitManager(scalerKind, other.GetName()) == f.Manager {
				return reconcile.Wait(reasonError, "%s is scaled by ManualScalerTrait/%s already: delete one of the two traits",
					target.ID.Short(), other.GetName())
			}
		}
	}
	return reconcile.Outcome{}
}

// traitManager returns the field manager of a trait, such as kinship-oam/ManualScalerTrait/NAME, so
// that managedFields distinguishes two traits of the same field.
func traitManager(gvk schema.GroupVersionKind, name string) string {
	return apply.FieldManager(fieldOwner + "/" + gvk.Kind + "/" + name)
}
