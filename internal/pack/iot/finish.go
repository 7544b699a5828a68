package iot

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// finish carries out the deletion of a connector: its Deployments with their Pods,
// then the identity, then the connector.
func (r *reconciler) finish(ctx context.Context, p *pass) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p.IotConnector, finalizer) {
		return ctrl.Result{}, nil
	}
	// Whoever deletes without what belongs to it wants to keep that.
	if slices.Contains(p.Finalizers, metav1.FinalizerOrphanDependents) {
		if err := r.applier.Orphan(ctx, p.owner(), r.have(p)); err != nil {
			return r.result(err)
		}
		return r.result(r.changeFinalizer(ctx, p, controllerutil.RemoveFinalizer))
	}
	have := r.have(p)
	ids := make([]object.ID, 0, len(have))
	for _, e := range have {
		ids = append(ids, e.ID)
	}
	r.blocked.set(client.ObjectKeyFromObject(p.IotConnector), ids) // Before they can be gone.
	result, err := r.applier.Delete(ctx, p.owner(), have)
	if err == nil && len(result.Inventory) == 0 {
		return r.result(r.changeFinalizer(ctx, p, controllerutil.RemoveFinalizer))
	}
	outcome := reconcile.Fail(reasonFailed, err).And(refusals(result.Changes))
	for _, id := range result.Changes.Of(apply.Terminating) {
		outcome = outcome.And(reconcile.Progress(reasonDeleting, "%s is being deleted", id.Short()))
	}
	return r.conclude(ctx, p, outcome)
}
