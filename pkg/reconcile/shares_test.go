package reconcile

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
)

// busy reconciles the objects of namespace "busy" for 100 ms each, counts the passes, and keeps when each object's
// last pass started.
type busy struct {
	mu            sync.Mutex
	begin         time.Time
	quiet         time.Duration
	running, most int
	passes        map[string]int
	started       map[string]time.Duration
	took          time.Duration
}

// quiet is the only object of another namespace.
var quiet = object.ID{Namespace: "quiet", Name: "only"}

// check compares the passes with what they should be.
func (b *busy) check(t *testing.T, most int, atLeast, atMost time.Duration) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most != most || b.took < atLeast || b.took > atMost || len(b.passes) != 50 {
		t.Errorf("%d passes at the same time, want %d; %d of 50 objects after %s", b.most, most, len(b.passes), b.took)
	}
	for i := 1; most == 2 && i < 50; i++ {
		// Passes that start at the same moment are recorded by two goroutines, in any order.
		if before, after := b.started[fmt.Sprint(i-1)], b.started[fmt.Sprint(i)]; after < before {
			t.Errorf("object %d was worked on after %s, and object %d after %s", i-1, before, i, after)
		}
	}
}

// Reconcile implements reconcile.TypedReconciler.
func (b *busy) Reconcile(_ context.Context, id object.ID) (ctrl.Result, error) {
	if id == quiet {
		<-time.After(b.quiet)
		return ctrl.Result{}, nil
	}
	b.mu.Lock()
	b.running++
	b.passes[id.Name]++
	b.started[id.Name] = time.Since(b.begin)
	if time.Since(b.begin) < time.Second {
		b.most = max(b.most, b.running)
	}
	b.mu.Unlock()
	<-time.After(100 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.took = time.Since(b.begin)
	return ctrl.Result{}, nil
}

// work passes over the objects of a workqueue until the workqueue is shut down.
func work(t *testing.T, from workqueue.TypedInterface[object.ID], r reconcile.TypedReconciler[object.ID]) {
	t.Helper()
	for {
		id, ended := from.Get()
		if ended {
			return
		}
		if _, err := r.Reconcile(t.Context(), id); err != nil {
			t.Error(err)
		}
		from.Done(id)
	}
}

// TestShares has 16 workers pass over 50 objects of a tenant, each for 100 ms. Alone, the tenant has all workers. While
// the only object of another tenant is worked on five times a second, or for a long time, the first tenant has two, its
// objects keep their order, and the other tenant is worked on at once. When the first tenant is alone again, it has all
// workers again. No object is forgotten.
func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		quiet           time.Duration // how long the other tenant is worked on; zero means never
		until           time.Duration // when the other tenant is worked on last
		most            int           // passes at the same time in the first two seconds
		atLeast, atMost time.Duration
	}{
		"alone":              {0, 0, 16, 0, time.Second},
		"in company":         {time.Millisecond, time.Minute, 2, 2 * time.Second, 3 * time.Second},
		"beside a long pass": {time.Minute, 0, 2, 2 * time.Second, 3 * time.Second},
		"the company goes soon": {
			time.Millisecond, 200 * time.Millisecond, 2, 1300 * time.Millisecond, 1700 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := newFairQueue(2)("shares", workqueue.DefaultTypedControllerRateLimiter[object.ID]())
				b := &busy{begin: time.Now(), quiet: c.quiet, passes: map[string]int{}, started: map[string]time.Duration{}}
				for range 16 {
					go work(t, queue, b)
				}
				if c.quiet > 0 {
					queue.Add(quiet)
					synctest.Wait()
				}
				for i := range 50 {
					queue.Add(object.ID{Namespace: "busy", Name: fmt.Sprint(i)})
				}
				for range 500 {
					<-time.After(200 * time.Millisecond)
					if time.Since(b.begin) <= c.until {
						queue.Add(quiet)
					}
				}
				queue.ShutDown()
				synctest.Wait()
				b.check(t, c.most, c.atLeast, c.atMost)
				if turns := queue.(*fairQueue).turns; len(turns.running)+len(turns.waiting)+turns.length > 0 {
					t.Errorf("kept after the end: %v, %v", turns.running, turns.waiting)
				}
			})
		})
	}
}

// TestSharesFail: an object that fails in company is tried again after growing pauses.
func TestSharesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[object.ID](time.Millisecond, time.Hour)
		queue := newFairQueue(1)("shares", limiter)
		var mu sync.Mutex
		tries := 0
		failing := reconcile.TypedFunc[object.ID](func(_ context.Context, id object.ID) (ctrl.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			if id != quiet {
				tries++
				queue.AddRateLimited(id)
			}
			return ctrl.Result{}, nil
		})
		for range 4 {
			go work(t, queue, failing)
		}
		for i := range 10 {
			queue.Add(object.ID{Namespace: "busy", Name: fmt.Sprint(i)})
		}
		for range 100 {
			queue.Add(quiet)
			<-time.After(100 * time.Millisecond)
		}
		queue.ShutDown()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if tries < 100 || tries > 150 { // 1 + 2 + ... + 4,096 ms: 13 or 14 tries each in 10 s.
			t.Errorf("%d tries of 10 objects in 10 s", tries)
		}
	})
}
