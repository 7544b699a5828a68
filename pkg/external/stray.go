package external

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// strays are objects that are gone although they had our finalizer. The API server asks
// for finalizers when a deletion begins; one that comes before it ends keeps nothing
// (Store.Delete of k8s.io/apiserver). What was made meanwhile nobody else knows of, so
// that it is deleted with what is known here. A restart forgets them, and what ends while
// the watch is cut off is not known for one.
type strays struct {
	mu  sync.Mutex
	all map[object.ID][]client.Object // as they were at their end
}

func (s *strays) add(id object.ID, last client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[object.ID][]client.Object{}
	}
	s.all[id] = append(s.all[id], last)
}

// of returns those that had a name.
func (s *strays) of(id object.ID) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[id])
}

func (s *strays) has(id object.ID, uid types.UID) bool {
	return slices.ContainsFunc(s.of(id), func(one client.Object) bool { return one.GetUID() == uid })
}

func (s *strays) drop(id object.ID, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = slices.DeleteFunc(s.all[id], func(one client.Object) bool { return one.GetUID() == uid })
	if len(s.all[id]) == 0 {
		delete(s.all, id)
	}
}

// recent is how long after an intent an object can be gone that was being deleted before.
const recent = 2 * time.Minute

// ended is told of an object as it was at its end.
func (r *reconciler[K, R]) ended(id object.ID, last client.Object) {
	if r.strayed(last) && r.engine.core.Running(r.kind.GVK.GroupKind()) {
		r.engine.strays.add(id, last)
	}
}

// strayed reports whether an object, as it was at its end, did not wait for us although
// something is being made for it, or was a moment ago. One that waited has a
// deletionTimestamp, whoever took our finalizer off.
func (r *reconciler[K, R]) strayed(last client.Object) bool {
	if last.GetDeletionTimestamp() != nil || !slices.Contains(last.GetFinalizers(), r.finalizer) {
		return false
	}
	i := intentOf(r.engine.Group, last)
	return i != nil && i.UID == last.GetUID() && r.engine.Clock.Since(i.Time) < recent
}

// sweep deletes what strays of a name have left behind, and returns when to go on with
// that; zero if nothing is left.
func (r *reconciler[K, R]) sweep(ctx context.Context, id object.ID) time.Duration {
	var next time.Duration
	for _, last := range r.engine.strays.of(id) {
		if pause := r.clear(ctx, id, last.(K)); pause > 0 && (next == 0 || pause < next) {
			next = pause
		}
	}
	return next
}

// clear deletes what one stray has left behind.
func (r *reconciler[K, R]) clear(ctx context.Context, id object.ID, last K) time.Duration {
	log := ctrl.LoggerFrom(ctx).WithValues("uid", last.GetUID())
	p := &pass[K, R]{id: id, before: last, memory: r.memories.of(last.GetUID())}
	p.Object = last.DeepCopyObject().(K)
	p.Object.SetDeletionTimestamp(&metav1.Time{Time: r.engine.Clock.Now()})
	o := reconcile.Run(ctx, p, step[K, R]{Name: "dissolve", Run: r.dissolve},
		step[K, R]{Name: "deleteResource", Run: r.deleteResource})
	r.exit(p)
	if p.parked {
		return 0 // The turn wakes it.
	}
	if o.IsDone() {
		log.Info("Deleted what was made for an object while that was deleted")
		r.engine.strays.drop(id, last.GetUID())
		r.drop(last.GetUID())
		r.engine.core.Declare(id)
		return 0
	}
	res, err := o.Result()
	if err != nil {
		log.Error(err, "What was made for an object while that was deleted is not deleted yet")
	}
	if res.RequeueAfter == 0 { // No watch wakes who is gone.
		res, _ = r.poll(p, "%s", o.Message()).Result()
	}
	return max(res.RequeueAfter, time.Millisecond)
}
