package usage

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// unstick keeps the deletion of a namespace from waiting for ever. The namespace
// controller deletes all objects of a kind in one request, which ends at the
// first refusal: a used object that comes first in the alphabet would keep the
// using one alive that it waits for. Whoever may delete a namespace may delete
// everything in it, so the using object is deleted first.
func (r *reconciler) unstick(ctx context.Context, p *pass) reconcile.Outcome {
	if !slices.ContainsFunc(p.UsageStatus().Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.User == namespaceController || r.User == controllerManager
	}) {
		return reconcile.Outcome{}
	}
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content == nil && r.namespaceEnds(ctx, e.Source) {
			return r.hasten(ctx, e.Source)
		}
	}
	return reconcile.Outcome{}
}

// namespaceEnds reports whether an end lives in a namespace that is being
// deleted.
func (r *reconciler) namespaceEnds(ctx context.Context, source relation.Ref) bool {
	if source.Namespace == "" {
		return false
	}
	ns, err := r.watcher.Live(ctx, object.ID{Kind: namespaceKind.Kind, Name: source.Namespace})
	return err == nil && ns.Deleting
}

// hasten deletes what uses the target, as the end of its namespace will anyway.
func (r *reconciler) hasten(ctx context.Context, source relation.Ref) reconcile.Outcome {
	mapping, err := r.watcher.Mapping(source.GroupKind().WithVersion(""))
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, unlessGone(err))
	}
	objects, _ := r.watcher.List(source)
	for _, obj := range objects {
		if obj.Deleting {
			continue
		}
		err := r.metadata.Resource(mapping.Resource).Namespace(obj.ID.Namespace).Delete(ctx, obj.ID.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &obj.UID}})
		// A conflict is another Usage's refusal: that one hastens its own using object.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("delete %s before its namespace: %w", obj.ID, err))
		}
	}
	return reconcile.Wait(sharedv1alpha1.ReasonWaitingUsingDeleted, "waiting for %s to be gone", source)
}
