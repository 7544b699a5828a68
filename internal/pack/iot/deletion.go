package iot

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// deleteComposed deletes the Deployments with their Pods, and then the identity. After
// `kubectl delete --cascade=orphan`, deleteComposed removes the owner references instead.
func (r *reconciler) deleteComposed(ctx context.Context, p *pass) reconcile.Outcome {
	if !controllerutil.ContainsFinalizer(p.IotConnector, finalizer) {
		return reconcile.Outcome{}
	}
	have := r.have(p)
	if slices.Contains(p.Finalizers, metav1.FinalizerOrphanDependents) {
		return reconcile.Fail(reasonFailed, r.applier.Orphan(ctx, p.owner(), have))
	}
	ids := lists.Map(have, func(e apply.Entry) object.ID { return e.ID })
	r.stores.WaitFor(p.id, ids...) // Before the first of the objects can be gone.
	result, err := r.applier.Delete(ctx, p.owner(), have)
	outcome := reconcile.Fail(reasonFailed, err).And(refusals(result.Changes))
	for _, id := range result.Changes.Of(apply.Terminating) {
		outcome = outcome.And(reconcile.Progress(reasonDeleting, "%s is being deleted", id.Short()))
	}
	return outcome
}
