package relation

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestPace: the first change wakes the declarers of a namespace at once. Further changes wake each declarer once, after
// a pause as long as the number of woken declarers demands. Declarers of another namespace do not wait.
func TestPace(t *testing.T) {
	type call struct {
		At time.Duration
		ID object.ID
	}
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var mu sync.Mutex // A timer wakes as well.
		var got []call
		begin := time.Now()
		wake := func(id object.ID) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, call{time.Since(begin), id})
		}
		noisy := make([]object.ID, 300)
		for i := range noisy {
			noisy[i] = object.ID{Namespace: "noisy", Name: string(rune('a' + i))}
		}
		quiet := object.ID{Namespace: "quiet", Name: "a"}
		var want []call
		expect := func(at time.Duration, ids ...object.ID) {
			for _, id := range ids {
				want = append(want, call{at, id})
			}
		}
		p.wake(wake)
		p.wake(wake, noisy...)
		expect(0, noisy...)
		<-time.After(100 * time.Millisecond)
		p.wake(wake, noisy[0], quiet)
		p.wake(wake, noisy[0], noisy[1], quiet)
		expect(100*time.Millisecond, quiet)
		expect(102*time.Millisecond, quiet)
		expect(600*time.Millisecond, noisy[:2]...)
		<-time.After(time.Minute)
		p.wake(wake, noisy[2]) // After a rest.
		expect(100*time.Millisecond+time.Minute, noisy[2])
		<-time.After(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		slices.SortFunc(got, func(a, b call) int { return cmp.Or(cmp.Compare(a.At, b.At), object.Compare(a.ID, b.ID)) })
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(p.waiting) > 0 {
			t.Errorf("%d namespaces are kept after their pauses", len(p.waiting))
		}
	})
}
