package oam

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// scalerReconciler sets spec.replicas of the children of a workload, or of the workload itself if its
// definition names no children.
type scalerReconciler struct {
	*environment

	// restored has when a trait last restored spec.replicas of an object, or the zero time if the trait
	// has only scaled the object.
	restored sync.Map // of time.Time by restoredKey
}

// restoredKey is a trait in one generation, and the object that it scales.
type restoredKey struct {
	trait, target types.UID
	generation    int64
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

// forget drops old entries of restored: their trait may be gone.
func (r *scalerReconciler) forget(object.ID) {
	r.restored.Range(func(key, last any) bool {
		if time.Since(last.(time.Time)) > rivalry {
			r.restored.Delete(key)
		}
		return true
	})
}

func (r *scalerReconciler) scale(ctx context.Context, p *scalerPass) reconcile.Outcome {
	id := idOf(p.obj.Spec.WorkloadReference, p.obj.Namespace)
	all, outcome := r.members(p.id, id)
	if !outcome.IsDone() {
		return outcome
	}
	found := all[id]
	if len(found) == 0 {
		return lacking(p, "waiting for %s to be created", id.Short())
	}
	targets := found[1:]
	if definition := r.workloadDefinition(found[0]); len(childrenOf(definition)) == 0 {
		targets = found[:1]
	}
	count := 0
	for _, target := range targets {
		if !r.isScalable(target) {
			continue
		}
		count++
		outcome = outcome.And(r.setReplicas(ctx, p, target))
	}
	if count == 0 && outcome.IsDone() {
		return lacking(p, "cannot scale the resource: %s and its children have no spec.replicas", id.Short())
	}
	return outcome
}

// workloadPatience is how long the children of a new workload usually take.
const workloadPatience = 5 * time.Second

// lacking waits for an object. A new trait does not say so at once: usually its workload is being made.
func lacking(p *scalerPass, format string, args ...any) reconcile.Outcome {
	if rest := workloadPatience - time.Since(p.obj.CreationTimestamp.Time); rest > 0 {
		return reconcile.WaitFor(rest, reasonPassing, format, args...)
	}
	return reconcile.Wait(reasonError, format, args...)
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

// setReplicas applies spec.replicas with the field manager of the trait.
func (r *scalerReconciler) setReplicas(ctx context.Context, p *scalerPass, target relation.Object) reconcile.Outcome {
	manager := traitManager(scalerKind, p.obj.Name)
	s := shownOf(&target)
	if target.Deleting || (s.replicas == int64(p.obj.Spec.ReplicaCount) && s.isScalable && isManagedBy(s, manager)) {
		return reconcile.Outcome{}
	}
	mapping, err := r.watcher.Mapping(target.ID.GroupKind().WithVersion(""))
	if err != nil {
		return reconcile.Wait(reasonError, "%s", err)
	}
	gvk := mapping.Resource.GroupVersion().WithKind(target.ID.Kind)
	if outcome := r.checkRivals(ctx, p, target, gvk); !outcome.IsDone() {
		return outcome
	}
	if outcome := r.permittedFor(ctx, p.obj, "patch", gvk); !outcome.IsDone() {
		return outcome
	}
	spec := map[string]any{"replicas": int64(p.obj.Spec.ReplicaCount)}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(target.ID.Namespace)
	u.SetName(target.ID.Name)
	u.SetUID(target.UID)
	err = r.live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(manager), client.ForceOwnership)
	if reconcile.IsSuperseded(err) {
		return reconcile.Wait(reasonError, "waiting for the new %s", target.ID.Short())
	}
	if err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("scale %s: %w", target.ID.Short(), err))
	}
	return reconcile.Outcome{}
}

// rivalry is how soon another client must set spec.replicas again to be a rival.
const rivalry = time.Minute

// checkRivals yields to another trait that scales the object, and to a client that sets spec.replicas
// again within a minute after the trait has restored it. Nobody gains from two clients that overwrite
// each other.
func (r *scalerReconciler) checkRivals(
	ctx context.Context, p *scalerPass, target relation.Object, gvk schema.GroupVersionKind,
) reconcile.Outcome {
	own, prefix := traitManager(scalerKind, p.obj.Name), traitManager(scalerKind, "")
	for _, f := range shownOf(&target).ManagedFields {
		name, isTrait := strings.CutPrefix(f.Manager, prefix)
		if isTrait && f.Manager != own && r.engine.Get(in(scalerKind, p.obj.Namespace, name)) != nil {
			return reconcile.Wait(reasonError, "%s is scaled by ManualScalerTrait/%s already: delete one of the two traits",
				target.ID.Short(), name)
		}
	}
	if !shownOf(&target).isScalable || shownOf(&target).replicas == int64(p.obj.Spec.ReplicaCount) {
		return reconcile.Outcome{}
	}
	key := restoredKey{p.obj.UID, target.UID, p.obj.Generation}
	last, scaled := r.restored.LoadOrStore(key, time.Time{})
	if !scaled {
		return reconcile.Outcome{} // Nobody overwrote the trait: the number is that of the object's creation.
	}
	r.restored.Store(key, time.Now())
	if time.Since(last.(time.Time)) > rivalry {
		return reconcile.Outcome{}
	}
	return reconcile.Wait(reasonError, "%s sets spec.replicas of %s to %d, and ManualScalerTrait/%s to %d: "+
		"the trait yields until its spec changes", r.managerOfReplicas(ctx, target, gvk), target.ID.Short(),
		shownOf(&target).replicas, p.obj.Name, p.obj.Spec.ReplicaCount)
}

// managerOfReplicas returns the field manager that has set spec.replicas of an object.
func (r *scalerReconciler) managerOfReplicas(
	ctx context.Context, target relation.Object, gvk schema.GroupVersionKind,
) string {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	if err := r.live.Get(ctx, target.ID.NamespacedName(), live); err != nil {
		return "another client"
	}
	for _, f := range live.ManagedFields {
		if f.FieldsV1 == nil || f.Subresource == "status" {
			continue
		}
		if bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:replicas":`)) {
			return "field manager " + f.Manager
		}
	}
	return "another client"
}

// maxManager is how long the name of a field manager may be.
const maxManager = 128

// traitManager returns the field manager of a trait: two traits that set the same field are told apart.
func traitManager(gvk schema.GroupVersionKind, name string) string {
	manager := fieldOwner + "/" + gvk.Kind + "/" + name
	return manager[:min(len(manager), maxManager)]
}

// isManagedBy reports whether a field manager has applied fields of an object.
func isManagedBy(s *shown, manager string) bool {
	for _, f := range s.ManagedFields {
		if f.Manager == manager {
			return true
		}
	}
	return false
}
