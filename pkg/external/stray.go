package external

import (
	"context"
	"slices"
	"sync"

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
// that it is deleted with what is known here. A restart forgets them.
type strays[K Object] struct {
	mu  sync.Mutex
	all map[object.ID][]K // as they were at their end
}

func (s *strays[K]) add(id object.ID, last K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[object.ID][]K{}
	}
	s.all[id] = append(s.all[id], last)
}

// of returns those that had a name.
func (s *strays[K]) of(id object.ID) []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[id])
}

func (s *strays[K]) has(id object.ID, uid types.UID) bool {
	return slices.ContainsFunc(s.of(id), func(one K) bool { return one.GetUID() == uid })
}

func (s *strays[K]) drop(id object.ID, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = slices.DeleteFunc(s.all[id], func(one K) bool { return one.GetUID() == uid })
	if len(s.all[id]) == 0 {
		delete(s.all, id)
	}
}

// ended is told of an object as it was at its end.
func (r *reconciler[K, R]) ended(id object.ID, last client.Object) {
	if r.strayed(last) && r.member.queue.Running() {
		r.strays.add(id, last.(K))
	}
}

// strayed reports whether an object, as it was at its end, did not wait for us. One that
// did has a deletionTimestamp, whoever took our finalizer off.
func (r *reconciler[K, R]) strayed(last client.Object) bool {
	return last.GetDeletionTimestamp() == nil && slices.Contains(last.GetFinalizers(), r.finalizer)
}

// sweep deletes what strays of a name have left behind.
func (r *reconciler[K, R]) sweep(ctx context.Context, id object.ID) (ctrl.Result, error) {
	var outcome reconcile.Outcome
	for _, last := range r.strays.of(id) {
		ctrl.LoggerFrom(ctx).Info("Object was deleted while it got its finalizer; its resource is deleted too",
			"uid", last.GetUID())
		p := &pass[K, R]{id: id, before: last, memory: r.memories.of(last.GetUID())}
		p.Object = last.DeepCopyObject().(K)
		p.Object.SetDeletionTimestamp(&metav1.Time{Time: r.engine.Clock.Now()})
		o := reconcile.Run(ctx, p, r.dissolve, r.dismantle)
		if o.IsDone() {
			r.strays.drop(id, last.GetUID())
			r.drop(last.GetUID())
		}
		outcome = outcome.And(o)
	}
	res, err := result(outcome)
	if !outcome.IsDone() && err == nil && res.RequeueAfter == 0 {
		res.RequeueAfter = lastRetry // No watch wakes who is gone.
	}
	return res, err
}
