package reconcile

import (
	"context"
	"math"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
)

// company is how long a namespace counts as being worked on after its last pass began.
const company = time.Second

// shares bound the passes over objects of one namespace that run at the same time, while objects of other namespaces
// are worked on too. Turns alone are not enough: the passes of a tenant with many objects would occupy all workers,
// and their requests the API server, so that each request of another tenant waits for 16 requests of this one. A
// namespace that is alone has all workers.
type shares struct {
	reconcile.TypedReconciler[object.ID]

	queue *Queue
	most  int // Controller.Share

	mu      sync.Mutex
	running map[string]int
	// parked are the objects whose passes wait for the end of another pass of their namespace.
	parked map[string]map[object.ID]struct{}
	// latest is the namespace of the last pass, and other the last namespace before that was another one.
	latest, other     string
	latestAt, otherAt time.Time
}

// newShares returns a reconciler with shares, or the same reconciler if share is zero.
func newShares(r reconcile.TypedReconciler[object.ID], queue *Queue, share int) reconcile.TypedReconciler[object.ID] {
	if share == 0 {
		return r
	}
	return &shares{
		TypedReconciler: r, queue: queue, most: share,
		running: map[string]int{}, parked: map[string]map[object.ID]struct{}{},
	}
}

// Reconcile runs a pass, or has the object queued again after another pass of its namespace.
func (s *shares) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	if !s.enter(id) {
		return ctrl.Result{}, nil
	}
	defer s.leave(id.Namespace)
	return s.TypedReconciler.Reconcile(ctx, id)
}

// enter begins a pass, or parks the object.
func (s *shares) enter(id object.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saw(id.Namespace)
	if s.running[id.Namespace] >= s.room(id.Namespace) {
		if s.parked[id.Namespace] == nil {
			s.parked[id.Namespace] = map[object.ID]struct{}{}
		}
		s.parked[id.Namespace][id] = struct{}{}
		return false
	}
	s.running[id.Namespace]++
	return true
}

// leave ends a pass, and queues as many parked objects of the namespace as have room.
func (s *shares) leave(namespace string) {
	s.mu.Lock()
	var due []object.ID
	s.running[namespace]--
	room := s.room(namespace) - s.running[namespace]
	for id := range s.parked[namespace] {
		if len(due) == room {
			break
		}
		due = append(due, id)
		delete(s.parked[namespace], id)
	}
	if len(s.parked[namespace]) == 0 {
		delete(s.parked, namespace)
	}
	if s.running[namespace] == 0 {
		delete(s.running, namespace)
	}
	s.mu.Unlock()
	for _, id := range due {
		s.queue.Add(id)
	}
}

// saw records that an object of a namespace is to be worked on. The caller holds s.mu.
func (s *shares) saw(namespace string) {
	now := time.Now()
	if namespace != s.latest {
		s.other, s.otherAt, s.latest = s.latest, s.latestAt, namespace
	}
	s.latestAt = now
}

// room returns how many passes a namespace may have now. The caller holds s.mu.
func (s *shares) room(namespace string) int {
	last := s.latestAt
	if namespace == s.latest {
		last = s.otherAt
	}
	if last.IsZero() || time.Since(last) > company {
		return math.MaxInt
	}
	return s.most
}
