package external

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A stray is an object that is gone although it had the operator's finalizer. The API server looks
// at the finalizers when a deletion begins; a finalizer that comes before the deletion ends keeps
// nothing (Store.Delete of k8s.io/apiserver). Nothing else tells of a resource that was created
// meanwhile, so that the resource is deleted by the record of the object. A restart forgets strays,
// and an object that ends while the watch is cut off is not known for one.

// keepStray keeps the record of an object that is gone, whose resource is still to be deleted.
func (s *records) keepStray(r *record, last client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.gone {
		r.stray = last
		s.strays.add(r.id, r)
	}
}

// straysOf returns the strays that had a name.
func (s *records) straysOf(id object.ID) []*record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strays.of(id)
}

// recent is how long after its intent an object may be a stray. An object that is gone later was
// changed by a person, who took the finalizer off.
const recent = 2 * time.Minute

// ended is called with each deleted object as it was at its end.
func (r *reconciler[K, R]) ended(id object.ID, last client.Object) {
	if r.strayed(last) && r.engine.core.Running(r.kind.GVK.GroupKind()) {
		r.engine.records.keepStray(r.engine.records.of(id, last.GetUID()), last)
	}
}

// strayed reports whether the last version of an object is that of a stray. A stray has the finalizer
// and a recent intent, and no deletionTimestamp: an object that waited for the operator has a
// deletionTimestamp.
func (r *reconciler[K, R]) strayed(last client.Object) bool {
	if last.GetDeletionTimestamp() != nil || !slices.Contains(last.GetFinalizers(), r.finalizer) {
		return false
	}
	i := intentOf(r.engine.Group, last)
	return i != nil && i.UID == last.GetUID() && r.engine.Clock.Since(i.Time) < recent
}

// sweep deletes the resources of the strays of a name, and returns when to go on; zero if there are
// no strays.
func (r *reconciler[K, R]) sweep(ctx context.Context, id object.ID) time.Duration {
	var next time.Duration
	for _, one := range r.engine.records.straysOf(id) {
		if pause := r.clear(ctx, one); pause > 0 && (next == 0 || pause < next) {
			next = pause
		}
	}
	return next
}

// clear deletes the resource of one stray.
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
