package relation

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestPace: the declarers of a namespace are woken in bursts, each once, also if they are requested again while they
// wait. A declarer of another namespace is woken at once. 10,000 declarers are woken within 7 seconds.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var mu sync.Mutex // A timer wakes as well.
		woken := map[string][]time.Duration{}
		begin := time.Now()
		wake := func(id object.ID) {
			mu.Lock()
			defer mu.Unlock()
			woken[id.Name] = append(woken[id.Name], time.Since(begin))
		}
		some := func(namespace string, n int) []object.ID {
			ids := make([]object.ID, 0, n)
			for i := range n {
				ids = append(ids, object.ID{Namespace: namespace, Name: fmt.Sprint(namespace, i)})
			}
			return ids
		}
		p.wake(wake)
		p.wake(wake, some("noisy", 20)...)
		<-time.After(time.Millisecond)
		p.wake(wake, some("noisy", 20)[0], some("noisy", 20)[19], some("quiet", 1)[0])
		<-time.After(time.Minute)
		p.wake(wake, some("many", 10_000)...)
		<-time.After(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		const burst = burstPause
		for name, want := range map[string][]time.Duration{
			"noisy7": {0}, "noisy8": {burst}, "noisy15": {burst}, "noisy16": {2 * burst}, "noisy19": {2 * burst},
			"noisy0": {0, 2 * burst}, "quiet0": {time.Millisecond},
		} {
			if diff := cmp.Diff(want, woken[name]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		last := time.Duration(0)
		for i := range 10_000 {
			last = max(last, slices.Max(woken[fmt.Sprint("many", i)]))
		}
		if took := last - time.Minute - time.Millisecond; took > 7*time.Second {
			t.Errorf("10,000 declarers are woken after %s", took)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.waiting) > 0 {
			t.Errorf("%d namespaces are kept after their bursts", len(p.waiting))
		}
	})
}
