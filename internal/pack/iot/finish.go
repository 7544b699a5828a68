package iot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
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

// remove takes the finalizers off, which nobody would carry out any more. What was
// made for the connectors goes with them, by its owner references.
func remove(ctx context.Context, r pack.Removal) error {
	var list iotv1alpha1.IotConnectorList
	if err := r.Live.List(ctx, &list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("list IotConnectors: %w", err)
	}
	var failed []error
	for i := range list.Items {
		c := &list.Items[i]
		before := c.DeepCopy()
		if !controllerutil.RemoveFinalizer(c, finalizer) {
			continue
		}
		if err := r.Live.Patch(ctx, c, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("take the finalizer off IotConnector %s/%s: %w", c.Namespace, c.Name, err))
		}
	}
	if len(list.Items) > 0 {
		r.Say("took the finalizer off %d IotConnectors", len(list.Items))
	}
	return errors.Join(failed...)
}
