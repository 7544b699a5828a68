package reconcile

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestTurns draws additions and removals. Each object comes out once for each time that it went in, the objects of a
// namespace in their order, and no object waits for more than one object of each other namespace before its
// namespace has a turn.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queue := &turns{waiting: map[string][]object.ID{}, running: map[string]int{}, share: math.MaxInt}
		waiting := map[string][]object.ID{} // The model: what each namespace has.
		passed := map[string]int{}          // How many turns of others each waiting namespace has seen.
		number := 0
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if queue.Len() == 0 || rapid.Bool().Draw(t, "push") {
				id := object.ID{
					Namespace: rapid.SampledFrom([]string{"", "noisy", "quiet", "other"}).Draw(t, "namespace"),
					Name:      fmt.Sprint(number),
				}
				number++
				queue.Push(id)
				waiting[id.Namespace] = append(waiting[id.Namespace], id)
				continue
			}
			got := queue.Pop()
			if want := waiting[got.Namespace]; len(want) == 0 || want[0] != got {
				t.Fatalf("namespace %q: got %v, want the first of %v", got.Namespace, got, want)
			}
			waiting[got.Namespace] = waiting[got.Namespace][1:]
			passed[got.Namespace] = 0
			for namespace, ids := range waiting {
				if namespace == got.Namespace || len(ids) == 0 {
					continue
				}
				if passed[namespace]++; passed[namespace] > 3 {
					t.Fatalf("namespace %q waits although each other one had a turn", namespace)
				}
			}
		}
		total := 0
		for _, ids := range waiting {
			total += len(ids)
		}
		if queue.Len() != total {
			t.Fatalf("the length is %d, want %d", queue.Len(), total)
		}
	})
}

// TestFairQueue: 300 objects of one namespace are queued before the object of another namespace, which is second.
// An object that is queued twice is reconciled once, and one that is queued during its pass once more.
func TestFairQueue(t *testing.T) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[object.ID](time.Millisecond, time.Second)
	queue := newFairQueue(0)("", limiter)
	defer queue.ShutDown()
	for i := range 300 {
		queue.Add(object.ID{Namespace: "noisy", Name: fmt.Sprint(i)})
		queue.Add(object.ID{Namespace: "noisy", Name: "0"})
	}
	quiet := object.ID{Namespace: "quiet", Name: "one"}
	queue.Add(quiet)
	if n := queue.Len(); n != 301 {
		t.Errorf("%d objects are queued, want 301", n)
	}
	var order []object.ID
	for range 2 {
		id, _ := queue.Get()
		order = append(order, id)
	}
	if !slices.Contains(order, quiet) {
		t.Errorf("the first two are %v: the quiet namespace waits for the noisy one", order)
	}
	queue.Add(quiet) // During its pass.
	for _, id := range order {
		queue.Done(id)
	}
	order = order[:0]
	for range 2 {
		id, _ := queue.Get()
		order = append(order, id)
	}
	if !slices.Contains(order, quiet) {
		t.Errorf("the next two are %v: the object that was queued during its pass is lost", order)
	}
}
