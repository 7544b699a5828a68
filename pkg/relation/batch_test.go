package relation

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestBatch: ends that come together are followed by one call, each once. Ends that come during a call are
// followed by the next call, after a pause as long as the call, but at most lastBatch.
func TestBatch(t *testing.T) {
	end := func(name string) Ref { return Named(object.ID{Kind: "K", Name: name}) }
	type call struct {
		At    time.Duration
		Names []string
	}
	for name, c := range map[string]struct {
		takes time.Duration // the first call
		want  []call
	}{
		"quick": {0, []call{{10 * time.Millisecond, []string{"a", "b"}}, {20 * time.Millisecond, []string{"c"}}}},
		"slow": {
			100 * time.Millisecond,
			[]call{{10 * time.Millisecond, []string{"a", "b"}}, {210 * time.Millisecond, []string{"c"}}},
		},
		"very slow": {
			2 * time.Second, []call{{10 * time.Millisecond, []string{"a", "b"}}, {2510 * time.Millisecond, []string{"c"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b batch
				var mu sync.Mutex // A timer runs follow.
				var got []call
				begin := time.Now()
				var follow func(ends []Ref)
				follow = func(ends []Ref) {
					names := make([]string, 0, len(ends))
					for _, one := range ends {
						names = append(names, one.Name)
					}
					slices.Sort(names)
					mu.Lock()
					got = append(got, call{time.Since(begin), names})
					isFirst := len(got) == 1
					mu.Unlock()
					if isFirst {
						b.add(follow, end("c"), end("c"))
						<-time.After(c.takes)
					}
				}
				b.add(follow)
				b.add(follow, end("a"))
				b.add(follow, end("b"), end("a"))
				<-time.After(time.Minute)
				b.add(follow, end("d")) // After a rest.
				<-time.After(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				want := slices.Concat(c.want, []call{{time.Minute + firstBatch, []string{"d"}}})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}
