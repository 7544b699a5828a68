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

// deleteOwned deletes the objects that Kubernetes' garbage collector would delete after the end of their
// owner, whose resource the cloud has deleted ([Kind.Cascades]). kube-controller-manager deletes about 20
// objects per second by default. An object is deleted after its owners: if a webhook protects a
// VirtualNetwork, its Subnets stay too. deleteOwned leaves to the garbage collector an object that has
// changed, or whose deletion fails.
func (r *reconciler[K, R]) deleteOwned(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	end := container{r.knownID(p), p.cloud}
	if !r.kind.Cascades || end.id == "" {
		return reconcile.Outcome{}
	}
	rest := r.engine.ownedUntil(p.id, end)
	ended := sets.New(p.Object.GetUID())
	remains := func(o metav1.OwnerReference) bool { return !ended.Has(o.UID) }
	for {
		var level, next []client.Object
		for _, obj := range rest {
			if slices.ContainsFunc(obj.GetOwnerReferences(), remains) {
				next = append(next, obj)
			} else {
				level = append(level, obj)
			}
		}
		if len(level) == 0 {
			return reconcile.Outcome{}
		}
		ended.Insert(r.engine.deleteAll(ctx, level)...)
		rest = next
	}
}

// ownedUntil returns the objects of a deleted object's tree for which recordEnd has noted the end of the
// owner's resource, and that have owner references.
func (e *Engine) ownedUntil(id object.ID, end container) (objects []client.Object) {
	for _, owned := range e.core.Owned(id) {
		obj := e.core.Get(owned)
		if obj != nil && len(obj.GetOwnerReferences()) > 0 && e.records.endOf(e.records.of(owned, obj.GetUID())) == end {
			objects = append(objects, obj)
		}
	}
	return objects
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
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := e.Live.Delete(ctx, obj.DeepCopyObject().(client.Object),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	return client.IgnoreNotFound(err)
}
