package external

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Pool does what takes long for objects, such as copying what is on a disk, a few
// things at a time. The workers that lead objects do not wait for it: an object is
// woken when its task has ended. A task ends early with its object, and with the
// engine.
//
// A task needs a slot. Slots are shared between namespaces and between sources, such as the
// hosts that contents are downloaded from. A source that does not answer within the time lent
// keeps no slot: the slot is lent to another task until the source answers.
type Pool struct {
	slots, begun Shares
	lent         time.Duration
	id           func(client.Object) object.ID
	wake         func(object.ID)

	mu       sync.Mutex
	change   *sync.Cond
	tasks    map[types.UID]*task
	waiting  []types.UID
	resuming []*task // their sources have answered; they wait for a slot
	using    usage   // of slots
	running  usage   // tasks that are begun, with or without a slot
	rests    map[types.UID]rest
}

// Shares bound how many tasks there are at once.
type Shares struct{ All, Namespace, Source int }

// usage counts tasks against shares.
type usage struct {
	all               int
	namespace, source map[string]int
}

func newUsage() usage { return usage{namespace: map[string]int{}, source: map[string]int{}} }

func (u *usage) fits(s Shares, t *task) bool {
	return u.all < s.All && u.namespace[t.id.Namespace] < s.Namespace && u.source[t.source] < s.Source
}

func (u *usage) add(t *task) {
	u.all++
	u.namespace[t.id.Namespace]++
	u.source[t.source]++
}

func (u *usage) remove(t *task) {
	u.all--
	less(u.namespace, t.id.Namespace)
	less(u.source, t.source)
}

// rest is between a task that failed and the next attempt.
type rest struct {
	failures int
	until    time.Time
	message  string
}

// task is what is done for one object.
type task struct {
	id     object.ID
	source string
	run    func(context.Context) error
	slot   bool // it has one
	// answered says that the source has answered: the slot is not lent any more.
	answered bool
	cancel   context.CancelFunc // nil until it is begun
	ended    bool
	err      error
	// dropped says that the object is gone.
	dropped bool
}

// lentAfter is how long a task may wait for its source with a slot.
const lentAfter = time.Second

// spread is how many times as many tasks may be begun as have slots: the others wait for
// sources that do not answer.
const spread = 8

// NewPool returns one with so many slots. It begins when the engine of its kind does.
func NewPool(slots Shares) *Pool {
	p := &Pool{
		slots: slots, begun: Shares{spread * slots.All, spread * slots.Namespace, spread * slots.Source},
		lent: lentAfter, using: newUsage(), running: newUsage(),
		tasks: map[types.UID]*task{}, rests: map[types.UID]rest{},
	}
	p.change = sync.NewCond(&p.mu)
	return p
}

// Has reports whether there is a task for an object: one that waits, is under way, has
// ended without anybody having asked how, or has failed lately.
func (p *Pool) Has(uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks[uid] != nil || time.Now().Before(p.rests[uid].until)
}

// Do has something done for an object, unless it has a task already. Once that has
// ended, it returns how, and forgets it; until then the object has to wait. What has
// failed is done again after a while, which grows with each failure. The task calls [Answered]
// when its source, whose name is given, has answered.
func (p *Pool) Do(
	obj client.Object, source string, run func(context.Context) error,
) (ended bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	uid := obj.GetUID()
	t := p.tasks[uid]
	if left := time.Until(p.rests[uid].until); t == nil && left > 0 {
		return true, &Error{Class: Transient, After: left, Message: p.rests[uid].message}
	}
	if t == nil {
		p.tasks[uid] = &task{id: p.id(obj), source: source, run: run}
		p.waiting = append(p.waiting, uid)
		p.change.Broadcast()
		return false, nil
	}
	if !t.ended {
		return false, nil
	}
	delete(p.tasks, uid)
	if t.err == nil || isClass(t.err, Invalid) {
		delete(p.rests, uid)
		return true, t.err
	}
	failures := p.rests[uid].failures
	pause := min(engine.FirstRetry<<min(failures, 10), engine.LastRetry)
	p.rests[uid] = rest{failures + 1, time.Now().Add(pause), t.err.Error()}
	return true, &Error{Class: Transient, After: pause, Message: t.err.Error()}
}

// drop ends what is done for an object.
func (p *Pool) drop(uid types.UID) {
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

// Start implements manager.Runnable.
func (p *Pool) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.changed)
	defer stop()
	var running sync.WaitGroup
	for t := p.next(ctx); t != nil; t = p.next(ctx) {
		running.Go(func() { p.do(ctx, t) })
	}
	running.Wait()
	return nil
}

// changed has those look again that wait for a change.
func (p *Pool) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change.Broadcast()
}

// next returns the next task once it may begin, or nil at the end.
func (p *Pool) next(ctx context.Context) *task {
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

// first returns the index of the waiting task that is to begin, or -1. Namespaces with few
// tasks come first. A task whose source has answered has the slot before all of them.
func (p *Pool) first() int {
	best, fewest := -1, 0
	if slices.ContainsFunc(p.resuming, func(t *task) bool { return p.using.fits(p.slots, t) }) {
		return best
	}
	for i, uid := range p.waiting {
		t := p.tasks[uid]
		n := p.running.namespace[t.id.Namespace]
		if (best < 0 || n < fewest) && p.using.fits(p.slots, t) && p.running.fits(p.begun, t) {
			best, fewest = i, n
		}
	}
	return best
}

// do does a task.
func (p *Pool) do(ctx context.Context, t *task) {
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
	p.wake(t.id)
}

// lend gives the slot of a task to others, unless its source has answered meanwhile.
func (p *Pool) lend(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.answered {
		return
	}
	p.free(t)
	p.change.Broadcast()
}

func (p *Pool) free(t *task) {
	if t.slot {
		t.slot = false
		p.using.remove(t)
	}
}

// resume waits until a task has a slot again.
func (p *Pool) resume(ctx context.Context, t *task) error {
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
	p.change.Broadcast() // Those that were held up by it.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.slot = true
	p.using.add(t)
	return nil
}

type answeredKey struct{}

// Answered tells the [Pool] of a task that the task's source has answered. It returns when
// the task has a slot, which may have been lent meanwhile, or with an error when the task
// is to end.
func Answered(ctx context.Context) error {
	if resume, ok := ctx.Value(answeredKey{}).(func() error); ok {
		return resume()
	}
	return nil
}

// safely turns a panic into an error: what is done here is often about data of
// others.
func safely(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return run(ctx)
}
