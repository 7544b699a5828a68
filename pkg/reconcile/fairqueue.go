package reconcile

import (
	"math"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinship-dev/kinship/pkg/object"
)

// company is how long after its last pass a namespace counts as being worked on.
const company = time.Second

// newFairQueue returns a function that makes the workqueue of a controller. Each namespace has a queue of its own, and
// the namespaces take turns: a tenant with 300 objects to reconcile delays the only object of another tenant by one
// pass and not by 300. Within a namespace, the first object in is the first out. Cluster-scoped objects share one turn.
// The workqueue of client-go does everything else: an object that is queued again before its pass is reconciled once.
//
// With a share, turns alone are not enough: see [Controller.Share].
func newFairQueue(share int) func(
	string, workqueue.TypedRateLimiter[object.ID],
) workqueue.TypedRateLimitingInterface[object.ID] {
	if share == 0 {
		share = math.MaxInt
	}
	return func(
		name string, limiter workqueue.TypedRateLimiter[object.ID],
	) workqueue.TypedRateLimitingInterface[object.ID] {
		t := &turns{waiting: map[string][]object.ID{}, running: map[string]int{}, share: share}
		return &fairQueue{
			TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
				workqueue.TypedRateLimitingQueueConfig[object.ID]{
					Name: name,
					DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[object.ID]{
						Name:  name,
						Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[object.ID]{Name: name, Queue: t}),
					}),
				}),
			turns: t,
		}
	}
}

// fairQueue tells turns when a pass ends, and then wakes a worker for an object that had no share before. The workqueue
// wakes workers for new objects alone.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[object.ID]

	turns *turns
}

// wake is an ID of no object. A worker that gets wake looks again.
var wake = object.ID{Kind: "wake"}

// Get implements workqueue.TypedInterface.
func (q *fairQueue) Get() (object.ID, bool) {
	for {
		id, ended := q.TypedRateLimitingInterface.Get()
		if ended || id != wake {
			q.next()
			return id, ended
		}
		q.TypedRateLimitingInterface.Done(wake)
	}
}

// Done implements workqueue.TypedInterface.
func (q *fairQueue) Done(id object.ID) {
	q.turns.ended(id.Namespace)
	q.TypedRateLimitingInterface.Done(id)
	q.next()
}

// next wakes one more worker if an object that waited for its share can be worked on. That worker wakes the next one.
func (q *fairQueue) next() {
	if q.turns.hasHeld() {
		q.Add(wake)
	}
}

// turns implements workqueue.Queue.
type turns struct {
	share int // passes of one namespace, in company

	mu sync.Mutex
	// waiting has the objects of each namespace, in the order in which they came.
	waiting map[string][]object.ID
	// next has the namespaces with objects, in the order of their turns.
	next   []string
	length int
	// running counts the passes of each namespace.
	running map[string]int
	// awake says that wake is in the queue.
	awake bool
	// held says that a worker has found no object with a share.
	held bool
	// latest is the namespace whose pass ended last, and otherAt the end of the last pass of another namespace.
	latest            string
	latestAt, otherAt time.Time
}

// Touch implements workqueue.Queue. An object that is queued already keeps its place.
func (t *turns) Touch(object.ID) {}

// Push implements workqueue.Queue.
func (t *turns) Push(id object.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == wake {
		t.awake = true
		return
	}
	queued := t.waiting[id.Namespace]
	if len(queued) == 0 {
		t.next = append(t.next, id.Namespace)
	}
	t.waiting[id.Namespace] = append(queued, id)
	t.length++
}

// Len implements workqueue.Queue: zero if no object that waits has a share. A worker then waits.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.awake {
		return 1
	}
	if t.first() >= 0 {
		return t.length
	}
	t.held = len(t.next) > 0
	return 0
}

// Pop implements workqueue.Queue.
func (t *turns) Pop() object.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.awake {
		t.awake = false
		return wake
	}
	i := t.first()
	namespace := t.next[i]
	t.next = append(t.next[:i:i], t.next[i+1:]...)
	queued := t.waiting[namespace]
	id := queued[0]
	queued[0] = object.ID{} // So that the array does not keep the text.
	if rest := queued[1:]; len(rest) > 0 {
		t.waiting[namespace] = rest
		t.next = append(t.next, namespace)
	} else {
		delete(t.waiting, namespace)
	}
	t.running[namespace]++
	t.length--
	return id
}

// first returns the index in turns.next of the first namespace that has a share, or -1. The caller holds t.mu.
func (t *turns) first() int {
	for i, namespace := range t.next {
		if t.running[namespace] < t.share || !t.inCompany(namespace) {
			return i
		}
	}
	return -1
}

// inCompany reports whether another namespace waits, is worked on, or was worked on within company. The writers of
// cluster-scoped objects are administrators, and these objects are of many teams: they have no share. The caller holds
// t.mu.
func (t *turns) inCompany(namespace string) bool {
	if namespace == "" {
		return false
	}
	others := len(t.running) + len(t.next)
	if t.running[namespace] > 0 {
		others--
	}
	if len(t.waiting[namespace]) > 0 {
		others--
	}
	last := t.latestAt
	if namespace == t.latest {
		last = t.otherAt
	}
	return others > 0 || (!last.IsZero() && time.Since(last) <= company)
}

// ended records the end of a pass.
func (t *turns) ended(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[namespace]--; t.running[namespace] == 0 {
		delete(t.running, namespace)
	}
	now := time.Now()
	if namespace != t.latest {
		t.otherAt, t.latest = t.latestAt, namespace
	}
	t.latestAt = now
}

// hasHeld reports whether an object that waited for its share has one now.
func (t *turns) hasHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		return false
	}
	t.held = len(t.next) > 0
	return t.held && t.first() >= 0
}
