package locked_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// A Map returns what a plain map returns, for any sequence of calls.
func TestMapIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m locked.Map[int, int]
		plain := map[int]int{}
		key := rapid.IntRange(0, 3)
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.Int().Draw(t, "value")
				m.Store(k, v)
				plain[k] = v
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				m.Delete(k)
				delete(plain, k)
			},
			"update": func(t *rapid.T) {
				k, keep := key.Draw(t, "key"), rapid.Bool().Draw(t, "keep")
				old, known := plain[k]
				m.Update(k, func(value int, ok bool) (int, bool) {
					if value != old || ok != known {
						t.Fatalf("Update shows %d %v, want %d %v", value, ok, old, known)
					}
					return value + 1, keep
				})
				plain[k] = old + 1
				if !keep {
					delete(plain, k)
				}
			},
			"delete some": func(t *rapid.T) {
				bound := rapid.Int().Draw(t, "bound")
				above := func(_, v int) bool { return v > bound }
				m.DeleteFunc(above)
				maps.DeleteFunc(plain, above)
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(plain, maps.Collect(m.All())); diff != "" {
					t.Fatalf("All (-want +got):\n%s", diff)
				}
				k := key.Draw(t, "key")
				want, known := plain[k]
				if got, ok := m.Load(k); got != want || ok != known || m.Get(k) != want || m.Len() != len(plain) {
					t.Fatalf("Load(%d) is %d %v, want %d %v; Len is %d", k, got, ok, want, known, m.Len())
				}
			},
		})
	})
}

// No Update is lost when many goroutines update one key.
func TestUpdateIsOneStep(t *testing.T) {
	t.Parallel()
	var m locked.Map[string, int]
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 1000 {
				m.Update("key", func(value int, _ bool) (int, bool) { return value + 1, true })
			}
		})
	}
	running.Wait()
	if got := m.Get("key"); got != 8000 {
		t.Errorf("8000 updates result in %d", got)
	}
}

// A loop over All may end early: later calls don't wait for the loop.
func TestAllEndsEarly(t *testing.T) {
	t.Parallel()
	var m locked.Map[int, int]
	m.Store(1, 1)
	m.Store(2, 2)
	for k := range m.All() {
		if k > 0 {
			break
		}
	}
	m.Delete(1)
	if m.Len() != 1 {
		t.Errorf("Len is %d after a Delete", m.Len())
	}
}
