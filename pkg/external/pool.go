package external

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Pool does what takes long for objects, such as copying what is on a disk, a few
// things at a time. The workers that lead objects do not wait for it: an object is
// woken when its task has ended. A task ends early with its object, and with the
// engine.
type Pool struct {
	size int
	id   func(client.Object) object.ID
	wake func(object.ID)

	mu      sync.Mutex
	change  *sync.Cond
	tasks   map[types.UID]*task
	waiting []types.UID
	rests   map[types.UID]rest
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
	run    func(context.Context) error
	cancel context.CancelFunc // nil until it is begun
	ended  bool
	err    error
}

// NewPool returns one that does so many things at a time. It begins when the engine
// of its kind does.
func NewPool(size int) *Pool {
	p := &Pool{size: size, tasks: map[types.UID]*task{}, rests: map[types.UID]rest{}}
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
// failed is done again after a while, which grows with each failure.
func (p *Pool) Do(obj client.Object, run func(context.Context) error) (ended bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	uid := obj.GetUID()
	t := p.tasks[uid]
	if left := time.Until(p.rests[uid].until); t == nil && left > 0 {
		return true, &Error{Class: Transient, After: left, Message: p.rests[uid].message}
	}
	if t == nil {
		p.tasks[uid] = &task{id: p.id(obj), run: run}
		p.waiting = append(p.waiting, uid)
		p.change.Signal()
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
	pause := min(firstRetry<<min(failures, 10), lastRetry)
	p.rests[uid] = rest{failures + 1, time.Now().Add(pause), t.err.Error()}
	return true, &Error{Class: Transient, After: pause, Message: t.err.Error()}
}

// drop ends what is done for an object.
func (p *Pool) drop(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tasks[uid]; t != nil && t.cancel != nil {
		t.cancel()
	}
	delete(p.tasks, uid)
	delete(p.rests, uid)
	p.waiting = slices.DeleteFunc(p.waiting, func(u types.UID) bool { return u == uid })
}

// Start implements manager.Runnable.
func (p *Pool) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.change.Broadcast()
	})
	defer stop()
	var workers sync.WaitGroup
	for range p.size {
		workers.Go(func() {
			for p.next(ctx) {
				continue
			}
		})
	}
	workers.Wait()
	return nil
}

// next does the next task, and reports whether to go on.
func (p *Pool) next(ctx context.Context) bool {
	p.mu.Lock()
	for len(p.waiting) == 0 && ctx.Err() == nil {
		p.change.Wait()
	}
	if ctx.Err() != nil {
		p.mu.Unlock()
		return false
	}
	t := p.tasks[p.waiting[0]]
	p.waiting = p.waiting[1:]
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	t.cancel = cancel
	p.mu.Unlock()

	err := safely(own, t.run)

	p.mu.Lock()
	t.ended, t.err = true, err
	p.mu.Unlock()
	p.wake(t.id)
	return true
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
