package reconcile

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/kinship-dev/kinship/pkg/object"
)

// newFairQueue returns the workqueue of a controller. Each namespace has a queue of its own, and the namespaces take
// turns: a tenant with 300 objects to reconcile delays the only object of another tenant by one pass and not by
// 300. Within a namespace, the first object in is the first out. Cluster-scoped objects share one turn. The
// workqueue of client-go does everything else: an object that is queued again before its pass is reconciled once.
func newFairQueue(
	name string, limiter workqueue.TypedRateLimiter[object.ID],
) workqueue.TypedRateLimitingInterface[object.ID] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[object.ID]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[object.ID]{
			Name: name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[object.ID]{
				Name: name, Queue: &turns{waiting: map[string][]object.ID{}},
			}),
		}),
	})
}

// turns implements workqueue.Queue. The workqueue calls all methods under its lock.
type turns struct {
	// waiting has the objects of each namespace, in the order in which they came.
	waiting map[string][]object.ID
	// next has the namespaces with objects, in the order of their turns.
	next   []string
	length int
}

// Touch implements workqueue.Queue. An object that is queued already keeps its place.
func (t *turns) Touch(object.ID) {}

// Push implements workqueue.Queue.
func (t *turns) Push(id object.ID) {
	queued := t.waiting[id.Namespace]
	if len(queued) == 0 {
		t.next = append(t.next, id.Namespace)
	}
	t.waiting[id.Namespace] = append(queued, id)
	t.length++
}

// Len implements workqueue.Queue.
func (t *turns) Len() int { return t.length }

// Pop implements workqueue.Queue.
func (t *turns) Pop() object.ID {
	namespace := t.next[0]
	t.next = t.next[1:]
	queued := t.waiting[namespace]
	id := queued[0]
	queued[0] = object.ID{} // So that the array does not keep the text.
	if rest := queued[1:]; len(rest) > 0 {
		t.waiting[namespace] = rest
		t.next = append(t.next, namespace)
	} else {
		delete(t.waiting, namespace)
	}
	t.length--
	return id
}
