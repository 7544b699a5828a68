package external

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// concurrentDeletions bounds the requests of deleteOwned at once.
const concurrentDeletions = 16

// deleteOwned deletes the objects whose resources the cloud deleted with the resource of their owner
// ([Kind.Cascades]), such as the networks of a deleted resource group. Kubernetes' garbage collector
// would delete the same objects, but kube-controller-manager deletes about 20 objects per second by
// default. deleteOwned leaves an object to the garbage collector if a request fails.
func (r *reconciler[K, R]) deleteOwned(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !r.kind.Cascades || slices.Contains(p.Object.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return reconcile.Outcome{}
	}
	var group errgroup.Group
	group.SetLimit(concurrentDeletions)
	for _, obj := range r.takenAlong(p) {
		group.Go(func() error {
			uid, version := obj.GetUID(), obj.GetResourceVersion()
			err := r.engine.Live.Delete(ctx, obj.DeepCopyObject().(client.Object),
				client.Preconditions{UID: &uid, ResourceVersion: &version})
			if apierrors.IsConflict(err) {
				return nil // The object has changed, and may have another owner.
			}
			return client.IgnoreNotFound(err)
		})
	}
	if err := group.Wait(); err != nil {
		ctrl.LoggerFrom(ctx).Info("left owned objects to the garbage collector", "reason", err.Error())
	}
	return reconcile.Outcome{}
}

// takenAlong returns the owned objects that the garbage collector would delete: each owner of such an
// object is the deleted object or another object of the result. The cloud deleted the resources of these
// objects (recordEnd).
func (r *reconciler[K, R]) takenAlong(p *pass[K, R]) (objects []client.Object) {
	end := container{r.knownID(p), p.cloud}
	owners := []types.UID{p.Object.GetUID()}
	remains := func(o metav1.OwnerReference) bool { return !slices.Contains(owners, o.UID) }
	for _, id := range r.engine.core.Owned(p.id) {
		obj := r.engine.core.Get(id)
		if obj == nil || len(obj.GetOwnerReferences()) == 0 || slices.ContainsFunc(obj.GetOwnerReferences(), remains) ||
			r.engine.records.endOf(r.engine.records.of(id, obj.GetUID())) != end {
			continue
		}
		owners = append(owners, obj.GetUID())
		if obj.GetDeletionTimestamp() == nil {
			objects = append(objects, obj)
		}
	}
	return objects
}
