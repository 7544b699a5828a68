package image

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

// pool streams the contents of Images, at most shares.all at a time, so that no worker of
// external.Engine waits. Each stream is a task of an Image. The pool requeues the Image when its
// task has ended. A task ends early when its Image is deleted, and when the operator stops.
//
// A task needs a slot. Slots are shared between namespaces and between sources, the hosts that
// contents are downloaded from. A task whose source does not answer within the time lent loses its
// slot until the source answers: meanwhile another task has the slot.
//
// A pool implements [external.Tasks].
type pool struct {
	slots, begun shares
	lent         time.Duration
	requeue      func(client.Object)

	mu       sync.Mutex
	change   *sync.Cond
	tasks    map[types.UID]*task
	waiting  []types.UID
	resuming []*task // tasks whose source has answered, and that wait for a slot
	using    usage   // the slots in use
	running  usage   // tasks that are begun, with or without a slot
	rests    map[types.UID]rest
}

// shares limits the tasks that run at the same time: of all namespaces (all), of one namespace,
// and of one source.
type shares struct{ all, namespace, source int }

// usage counts tasks, to compare with [shares]. A tenant can name any number of sources in
// spec.resource.content.download.url, so the maps have no counts of 0.
type usage struct {
	all               int
	namespace, source map[string]int
}

func newUsage() usage { return usage{namespace: map[string]int{}, source: map[string]int{}} }

func (u *usage) fits(s shares, t *task) bool {
	return u.all < s.all && u.namespace[t.obj.GetNamespace()] < s.namespace && u.source[t.source] < s.source
}

func (u *usage) add(t *task) {
	u.all++
	u.namespace[t.obj.GetNamespace()]++
	u.source[t.source]++
}

func (u *usage) remove(t *task) {
	u.all--
	lists.Decrease(u.namespace, t.obj.GetNamespace())
	lists.Decrease(u.source, t.source)
}

// rest is the pause between a failed task and the next attempt, from engine.FirstRetry up to
// engine.LastRetry.
type rest struct {
	failures int
	until    time.Time
	message  string
}

// task streams the content of one Image to Glance (actuator.stream).
type task struct {
	obj    client.Object
	source string
	run    func(context.Context) error
	slot   bool // the task has a slot
	// answered says that the source has answered (pool.resume): another task can't borrow the slot
	// any more.
	answered bool
	cancel   context.CancelFunc // nil until it is begun
	ended    bool
	err      error
	// dropped says that the Image was deleted (pool.Drop).
	dropped bool
}

// lentAfter is how long a task keeps its slot while its source does not answer.
const lentAfter = time.Second

// spread is the number of tasks that may have begun for each slot: 1 of them has the slot, and the
// others wait for sources that do not answer (pool.lend).
const spread = 8

// newPool returns a pool with the given numbers of slots. The [external.Engine] calls Start.
func newPool(slots shares) *pool {
	p := &pool{
		slots: slots, begun: shares{spread * slots.all, spread * slots.namespace, spread * slots.source},
		lent: lentAfter, using: newUsage(), running: newUsage(),
		tasks: map[types.UID]*task{}, rests: map[types.UID]rest{},
	}
	p.change = sync.NewCond(&p.mu)
	return p
}

// has reports whether the pool has a task for an Image (waiting, running, or ended without a
// call of do since), or an unfinished [rest].
func (p *pool) has(uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks[uid] != nil || time.Now().Before(p.rests[uid].until)
}

// do begins a task for an Image, unless the pool has one already. After the end of the task, do
// returns ended = true and the error of the task, and removes the task from the pool. After a
// failure, the pool begins the next task of the Image only after a pause, from
// engine.FirstRetry up to engine.LastRetry. The task calls [answered] when its source has
// answered.
func (p *pool) do(
	obj client.Object, source string, run func(context.Context) error,
) (ended bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	uid := obj.GetUID()
	t := p.tasks[uid]
	if left := time.Until(p.rests[uid].until); t == nil && left > 0 {
		return true, &external.Error{Class: external.Transient, After: left, Message: p.rests[uid].message}
	}
	if t == nil {
		p.tasks[uid] = &task{obj: obj, source: source, run: run}
		p.waiting = append(p.waiting, uid)
		p.change.Broadcast()
		return false, nil
	}
	if !t.ended {
		return false, nil
	}
	delete(p.tasks, uid)
	if t.err == nil || external.IsInvalid(t.err) {
		delete(p.rests, uid)
		return true, t.err
	}
	failures := p.rests[uid].failures
	pause := min(engine.FirstRetry<<min(failures, 10), engine.LastRetry)
	p.rests[uid] = rest{failures + 1, time.Now().Add(pause), t.err.Error()}
	return true, &external.Error{Class: external.Transient, After: pause, Message: t.err.Error()}
}

// Drop implements external.Tasks.
func (p *pool) Drop(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tasks[uid]; t != nil {
		t.dropped = true
		if t.cancel != nil {
			t.cancel()
		}
	}
	delete(p.tasks, uid)
	delete(p.rests, uid)
	p.waiting = slices.DeleteFunc(p.waiting, func(u types.UID) bool { return u == uid })
}

// Serve implements external.Tasks.
func (p *pool) Serve(requeue func(client.Object)) { p.requeue = requeue }

// Start implements manager.Runnable.
func (p *pool) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.changed)
	defer stop()
	var running sync.WaitGroup
	for t := p.next(ctx); t != nil; t = p.next(ctx) {
		running.Go(func() { p.work(ctx, t) })
	}
	running.Wait()
	return nil
}

// changed wakes the goroutines that wait for pool.change.
func (p *pool) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change.Broadcast()
}

// next waits until pool.first finds a task that may begin, and returns the task, or nil after the
// end of ctx.
func (p *pool) next(ctx context.Context) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ctx.Err() == nil {
		if i := p.first(); i >= 0 {
			t := p.tasks[p.waiting[i]]
			p.waiting = slices.Delete(p.waiting, i, i+1)
			t.slot = true
			p.using.add(t)
			p.running.add(t)
			return t
		}
		p.change.Wait()
	}
	return nil
}

// first returns the index in pool.waiting of the task that is to begin, or -1. Namespaces with
// fewer running tasks come first. Tasks in pool.resuming, whose sources have answered, come
// before every waiting task.
func (p *pool) first() int {
	best, fewest := -1, 0
	if slices.ContainsFunc(p.resuming, func(t *task) bool { return p.using.fits(p.slots, t) }) {
		return best
	}
	for i, uid := range p.waiting {
		t := p.tasks[uid]
		n := p.running.namespace[t.obj.GetNamespace()]
		if (best < 0 || n < fewest) && p.using.fits(p.slots, t) && p.running.fits(p.begun, t) {
			best, fewest = i, n
		}
	}
	return best
}

// work runs a task.
func (p *pool) work(ctx context.Context, t *task) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	t.cancel = cancel
	if t.dropped {
		cancel()
	}
	p.mu.Unlock()
	lend := time.AfterFunc(p.lent, func() { p.lend(t) })
	own = context.WithValue(own, answeredKey{}, func() error {
		lend.Stop()
		return p.resume(own, t)
	})

	err := safely(own, t.run)

	lend.Stop()
	p.mu.Lock()
	p.free(t)
	p.running.remove(t)
	t.ended, t.err = true, err
	p.change.Broadcast()
	p.mu.Unlock()
	p.requeue(t.obj)
}

// lend takes the slot from a task, for use by other tasks, unless the source has answered
// meanwhile.
func (p *pool) lend(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.answered {
		return
	}
	p.free(t)
	p.change.Broadcast()
}

func (p *pool) free(t *task) {
	if t.slot {
		t.slot = false
		p.using.remove(t)
	}
}

// resume sets task.answered, and waits until the task has a slot again.
func (p *pool) resume(ctx context.Context, t *task) error {
	stop := context.AfterFunc(ctx, p.changed)
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.answered = true
	if t.slot || t.ended {
		return nil
	}
	p.resuming = append(p.resuming, t)
	for ctx.Err() == nil && !p.using.fits(p.slots, t) {
		p.change.Wait()
	}
	p.resuming = slices.DeleteFunc(p.resuming, func(other *task) bool { return other == t })
	p.change.Broadcast() // While a task resumes, first returns -1.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.slot = true
	p.using.add(t)
	return nil
}

type answeredKey struct{}

// answered tells the pool of a task that the task's source has answered. answered returns nil
// when the task has a slot (another task may have borrowed the slot meanwhile), or the error of
// ctx when the task must end.
func answered(ctx context.Context) error {
	if resume, ok := ctx.Value(answeredKey{}).(func() error); ok {
		return resume()
	}
	return nil
}

// safely converts a panic of task.run to an error: the decompressor reads bytes from an untrusted
// source.
func safely(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return run(ctx)
}
