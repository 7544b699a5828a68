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

// busy reconciles the objects of namespace "busy" for 100 ms each, and counts the passes.
type busy struct {
	mu            sync.Mutex
	begin         time.Time
	running, most int
	passes        map[string]int
	took          time.Duration
}

// Reconcile implements reconcile.TypedReconciler.
func (b *busy) Reconcile(_ context.Context, id object.ID) (ctrl.Result, error) {
	if id.Namespace != "busy" {
		return ctrl.Result{}, nil
	}
	b.mu.Lock()
	b.running++
	b.most, b.passes[id.Name] = max(b.most, b.running), b.passes[id.Name]+1
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

// TestShares has 16 workers pass over 50 objects of a tenant. Alone, the tenant has all workers. While the only object
// of another tenant is worked on five times a second, the first tenant has two. No object is forgotten.
func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		inCompany bool
		most      int // passes at the same time
		atLeast   time.Duration
	}{
		"alone": {false, 16, 0}, "in company": {true, 2, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := newFairQueue("shares", nil)
				var q Queue
				q.work.Store(&queue)
				b := &busy{begin: time.Now(), passes: map[string]int{}}
				r := newShares(b, &q, 2)
				for range 16 {
					go work(t, queue, r)
				}
				quiet := object.ID{Namespace: "quiet", Name: "only"}
				if c.inCompany {
					q.Add(quiet)
					synctest.Wait()
				}
				for i := range 50 {
					q.Add(object.ID{Namespace: "busy", Name: fmt.Sprint(i)})
				}
				for range 100 {
					<-time.After(200 * time.Millisecond)
					if c.inCompany {
						q.Add(quiet)
					}
				}
				queue.ShutDown()
				synctest.Wait()
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.most != c.most || b.took < c.atLeast || len(b.passes) != 50 {
					t.Errorf("%d passes at the same time, want %d; %d of 50 objects after %s", b.most, c.most, len(b.passes), b.took)
				}
				if s := r.(*shares); len(s.running)+len(s.parked) > 0 {
					t.Errorf("kept after the end: %v, %v", s.running, s.parked)
				}
			})
		})
	}
}
