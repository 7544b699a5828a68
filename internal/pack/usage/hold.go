package usage

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// hold has the lock put on everything that the Usage protects, and is done when
// it is really there.
func (r *reconciler) hold(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	if len(edges) == 0 {
		// The ledger has not heard of the finalizer yet. When it does, it wakes us.
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "taking note of the Usage")
	}
	var outcome reconcile.Outcome
	for _, e := range edges {
		if e.Content != nil && r.ledger.Of(e) == relation.Free {
			continue // There is nothing in it to hold it for.
		}
		outcome = outcome.And(r.holdEnd(ctx, e))
	}
	return outcome
}

func (r *reconciler) holdEnd(ctx context.Context, e relation.Edge) reconcile.Outcome {
	if e.Target.Selector == nil {
		return r.holdObject(ctx, e, e.Target.ID)
	}
	members, known := r.watcher.List(e.Target)
	switch {
	case !known:
		return r.reading(e.Target.GroupKind(), e.Field)
	case len(members) == 0:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound, "spec.of: waiting for %s", e.Target)
	}
	var outcome reconcile.Outcome
	for _, member := range members {
		outcome = outcome.And(r.holdObject(ctx, e, member.ID))
	}
	return outcome
}

func (r *reconciler) holdObject(ctx context.Context, e relation.Edge, id object.ID) reconcile.Outcome {
	obj, presence, err := r.lock.Ensure(ctx, id)
	switch {
	case err != nil:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	case presence == relation.Unknown:
		return r.reading(id.GroupKind(), e.Field)
	case presence == relation.Absent && e.Content != nil:
		return reconcile.Outcome{} // A kind that is built in has no definition to hold.
	case presence == relation.Absent:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound, "spec.of: waiting for %s to exist", id)
	case r.lock.On(obj):
		return r.asked.Confirm(ctx, obj)
	case obj.Deleting:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound,
			"spec.of: %s is already being deleted, which can't be taken back", id)
	default:
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "putting the lock on %s", id)
	}
}

// reference returns the used object for events, or nil when it has no name yet.
func (r *reconciler) reference(p *pass) runtime.Object {
	target, err := end(p.usage, &p.UsageSpec().Of, r.watcher)
	if err != nil || target.Name == "" {
		return nil
	}
	return referenceTo(p.UsageSpec().Of.APIVersion, target.ID)
}

func referenceTo(apiVersion string, id object.ID) *corev1.ObjectReference {
	gvk := schema.FromAPIVersionAndKind(apiVersion, id.Kind)
	return &corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
	}
}

// tellEnded records an event about the used object: the protection on behalf of the using
// object has ended, because the using object is gone. When many protections of a namespace
// end at once, one event tells of all (endings.go).
func (r *reconciler) tellEnded(p *pass, using *sharedv1alpha1.BoundObject) {
	target, err := end(p.usage, &p.UsageSpec().Of, r.watcher)
	if err != nil || target.Name == "" {
		return
	}
	ref := referenceTo(p.UsageSpec().Of.APIVersion, target.ID)
	if obj, presence := r.watcher.Get(target.ID); presence == relation.Present {
		ref.UID = obj.UID
	}
	r.endings.tell(target.Namespace, ref, p.usage,
		fmt.Sprintf("%s is gone, for which %s protected this object", identifyBound(using).Short(), p.id))
}

// onlyLocks reports whether a merge patch says nothing but which version it is
// based on.
func onlyLocks(patch []byte) bool {
	var content map[string]map[string]any
	if err := json.Unmarshal(patch, &content); err != nil {
		return false
	}
	_, versioned := content["metadata"]["resourceVersion"]
	return len(content) == 1 && len(content["metadata"]) == 1 && versioned
}
