package usage

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// deleteUsingFirst deletes the using object of a namespace that is being deleted; otherwise the
// deletion of the namespace would never end. The namespace controller deletes all objects of a
// kind with one DeleteCollection, which stops at the first refusal: if ConfigMap b uses
// ConfigMap a, the refusal for a keeps b, too.
//
// A user who may delete a namespace may delete every object in the namespace.
func (r *reconciler) deleteUsingFirst(ctx context.Context, p *pass) reconcile.Outcome {
	if !slices.ContainsFunc(p.UsageStatus().Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.User == pack.NamespaceController || r.User == pack.ControllerManager
	}) {
		return reconcile.Outcome{}
	}
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content == nil && r.namespaceEnds(ctx, e.Source) {
			return r.deleteSource(ctx, e.Source)
		}
	}
	return reconcile.Outcome{}
}

// namespaceEnds reports whether an object lives in a namespace that is being deleted.
func (r *reconciler) namespaceEnds(ctx context.Context, ref relation.Ref) bool {
	if ref.Namespace == "" {
		return false
	}
	ns, err := r.watcher.Live(ctx, object.ID{Kind: namespaceKind.Kind, Name: ref.Namespace})
	return err == nil && ns.Deleting
}

// deleteSource deletes using objects, as the deletion of their namespace is about to do.
func (r *reconciler) deleteSource(ctx context.Context, source relation.Ref) reconcile.Outcome {
	mapping, err := r.watcher.Mapping(source.GroupKind().WithVersion(""))
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, relation.IgnoreGone(err))
	}
	objects, _ := r.watcher.List(source)
	for _, obj := range objects {
		if obj.Deleting {
			continue
		}
		err := r.deleteObject(ctx, mapping, obj.ID, obj.UID, nil)
		// A conflict can be the refusal of another Usage, which deletes its own using object first.
		if err != nil && !reconcile.IsOvertaken(err) && !reconcile.IsSuperseded(err) {
			return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("delete %s before its namespace: %w", obj.ID, err))
		}
	}
	return reconcile.Wait(sharedv1alpha1.ReasonWaitingUsingDeleted, "waiting for %s to be deleted", source)
}

// deleteObject deletes the object with a UID.
func (r *reconciler) deleteObject(
	ctx context.Context, mapping watch.Mapping, id object.ID, uid types.UID, policy *metav1.DeletionPropagation,
) error {
	logr.FromContextOrDiscard(ctx).V(1).Info("Delete", "object", id.String(), "uid", uid)
	return r.metadata.Resource(mapping.Resource).Namespace(id.Namespace).Delete(ctx, id.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: policy,
	})
}
