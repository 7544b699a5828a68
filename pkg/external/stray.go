package external

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A stray is a deleted object that had the operator's finalizer. The API server checks the finalizers when
// a deletion begins, and ignores a finalizer that is added before the deletion ends (Store.Delete of
// k8s.io/apiserver). For example, a Network may be deleted while writeFinalizer runs, and Actuator.Create
// follows. Only record.stray then tells of the resource, and reconciler.clear deletes the resource. A
// restart forgets strays. An object that ends while the watch is disconnected does not become a stray.

// keepStray sets record.stray of a deleted object whose resource is still to be deleted.
func (s *records) keepStray(r *record, last client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.gone.Load() {
		r.stray = last
		s.strays.add(r.id, r)
	}
}

// straysOf returns the records of strays with an object.ID.
func (s *records) straysOf(id object.ID) []*record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strays.of(id)
}

// recent is the time after intent.Time for which a deleted object may be a stray. If the object ends later
// with the finalizer, a person removed the finalizer.
const recent = 2 * time.Minute

// ended is called with the last version of each deleted object.
func (r *reconciler[K, R]) ended(id object.ID, last client.Object) {
	if r.strayed(last) && r.engine.core.Running(r.kind.GVK.GroupKind()) {
		r.engine.records.keepStray(r.engine.records.of(id, last.GetUID()), last)
	}
}

// strayed reports whether the last version of an object is a stray. A stray has the finalizer, a recent
// intent, and no metadata.deletionTimestamp. An object that waited for the operator has a
// metadata.deletionTimestamp.
func (r *reconciler[K, R]) strayed(last client.Object) bool {
	if last.GetDeletionTimestamp() != nil || !slices.Contains(last.GetFinalizers(), r.finalizer) {
		return false
	}
	i := intentOf(r.engine.Group, last)
	return i != nil && i.UID == last.GetUID() && r.engine.Clock.Since(i.Time) < recent
}

// sweep calls reconciler.clear for the strays with an object.ID, and returns the pause until the next
// call; zero if none is left.
func (r *reconciler[K, R]) sweep(ctx context.Context, id object.ID) time.Duration {
	var next time.Duration
	for _, one := range r.engine.records.straysOf(id) {
		if pause := r.clear(ctx, one); pause > 0 && (next == 0 || pause < next) {
			next = pause
		}
	}
	return next
}

// clear deletes the resource of a stray (deleteResource).
func (r *reconciler[K, R]) clear(ctx context.Context, stray *record) time.Duration {
	last := stray.stray.(K)
	log := ctrl.LoggerFrom(ctx).WithValues("uid", last.GetUID())
	p := &pass[K, R]{id: stray.id, before: last, record: stray, reserved: r.engine.records.beginPass(stray)}
	p.Object = last.DeepCopyObject().(K)
	p.Object.SetDeletionTimestamp(&metav1.Time{Time: r.engine.Clock.Now()})
	o := reconcile.Run(ctx, p, step[K, R]{Name: "dissolve", Run: r.dissolve},
		step[K, R]{Name: "deleteResource", Run: r.deleteResource})
	r.exit(p)
	r.endChange(p, o)
	if p.parked {
		return 0 // turns.go requeues the name when it has a turn.
	}
	if o.IsDone() {
		log.Info("Deleted the resource that was created for an object during its deletion")
		r.drop(stray)
		r.engine.core.Declare(stray.id)
		return 0
	}
	res, err := o.Result()
	if err != nil {
		log.Error(err, "The resource that was created for an object during its deletion is not deleted yet")
	}
	if res.RequeueAfter == 0 { // No event of a watch requeues an object that is gone.
		res, _ = r.poll(p, "%s", o.Message()).Result()
	}
	return max(res.RequeueAfter, time.Millisecond)
}

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
