package external

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// concurrentDeletions bounds the requests of deleteAll at once.
const concurrentDeletions = 16

// deleteEarly deletes the owned objects of an object whose resource the cloud is deleting, so that they
// end together with the resource. wait is the time until the next look at the resource.
func (r *reconciler[K, R]) deleteEarly(ctx context.Context, p *pass[K, R], wait reconcile.Outcome) reconcile.Outcome {
	begin := r.engine.Clock.Now()
	r.deleteOwned(ctx, p)
	return wait.Sooner(r.engine.Clock.Now().Sub(begin))
}

// deleteOwned deletes the owned objects that have come since deleteEarly, or all if the cloud deleted the
// owner's resource at once or keeps the resource.
func (r *reconciler[K, R]) deleteOwned(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.kind.Cascades {
		r.engine.deleteTree(ctx, p.Object, r.engine.core.Owned(p.id))
	}
	return reconcile.Outcome{}
}

// deleteTree deletes the objects that Kubernetes' garbage collector would delete after the end of their owner,
// whose resource the cloud deletes together with theirs ([Kind.Cascades]). kube-controller-manager deletes
// about 20 objects per second by default. The request to delete an object follows the requests for its
// owners: if a webhook protects a VirtualNetwork, its Subnets stay too. deleteTree leaves to the garbage
// collector an object that has changed, or whose deletion fails.
func (e *Engine) deleteTree(ctx context.Context, owner client.Object, owned []object.ID) {
	ended := sets.New(owner.GetUID())
	remains := func(o metav1.OwnerReference) bool { return !ended.Has(o.UID) }
	for len(owned) > 0 {
		var level []client.Object
		var next []object.ID
		for _, id := range owned {
			obj := e.core.Get(id)
			switch {
			case obj == nil || len(obj.GetOwnerReferences()) == 0:
			case slices.ContainsFunc(obj.GetOwnerReferences(), remains):
				next = append(next, id)
			default:
				level = append(level, obj)
			}
		}
		if len(level) == 0 {
			return
		}
		ended.Insert(e.deleteAll(ctx, level)...)
		owned = next
	}
}

// deleteAll deletes objects, and returns the uids of the objects that end and whose dependents end too.
func (e *Engine) deleteAll(ctx context.Context, objects []client.Object) []types.UID {
	failures := make([]error, len(objects))
	workqueue.ParallelizeUntil(ctx, concurrentDeletions, len(objects), func(i int) {
		if objects[i].GetDeletionTimestamp() == nil {
			failures[i] = e.deleteUnchanged(ctx, objects[i])
		}
	})
	var ended []types.UID
	for i, obj := range objects {
		switch err := failures[i]; {
		case err == nil && !slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
			ended = append(ended, obj.GetUID())
		case err != nil && (reconcile.IsVeto(err) || !reconcile.IsOvertaken(err)):
			ctrl.LoggerFrom(ctx).Info("Leaving an owned object to the garbage collector",
				"owned", client.ObjectKeyFromObject(obj), "reason", err.Error())
		}
	}
	return ended
}

// deleteUnchanged deletes an object that is as the watch reported it. An object that is already gone is no
// error.
func (e *Engine) deleteUnchanged(ctx context.Context, obj client.Object) error {
	return client.IgnoreNotFound(e.Live.Delete(ctx, obj.DeepCopyObject().(client.Object),
		client.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())}))
}
