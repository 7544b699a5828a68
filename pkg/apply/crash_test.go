package apply_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
)

// TestCrash ends the process at each of its writes in turn, before the request is sent and
// before its answer arrives. The next process finishes the work: no object is lost or left
// behind, and the inventory is exact.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	for _, late := range []bool{false, true} {
		for after := 0; ; after++ {
			w.reset()
			name := func(s string) string { return fmt.Sprintf("%s-%t-%d", s, late, after) }
			a, b, c, d := name("a"), name("b"), name("c"), name("d")
			w.life(nil).must(w.configMap(a, 0, "x=1"), w.configMap(b, 1, "x=1"), w.configMap(c, 1, "x=1"))
			want := []apply.Object{w.configMap(a, 0, "x=1"), w.configMap(c, 1, "y=2"), w.configMap(d, 1, "x=1")}
			fault := &crash{after: after, late: late}
			_, err := w.life(fault.wrap).run(want...)
			w.life(nil).must(want...)
			what := fmt.Sprintf("after %d writes, late %t", after, late)
			equal(t, what, fmt.Sprintf("%s{x=1} %s{y=2} %s{x=1}", a, c, d), w.state())
			equal(t, what, fmt.Sprintf("%s %s %s", a, c, d), w.recorded())
			w.crashDelete(after, late)
			equal(t, what, "", w.state())
			if err == nil {
				break // There were no further writes.
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			if fault.sent != after || fault.lost != late {
				t.Fatalf("%s: %d answers arrived, and one was lost: %t", what, fault.sent, fault.lost)
			}
		}
	}
}

// crashDelete ends the process while it deletes, and finishes the work.
func (w *world) crashDelete(after int, late bool) {
	w.t.Helper()
	_, err := w.life((&crash{after: after, late: late}).wrap).destroy()
	if err != nil && !errors.Is(err, errCrash) {
		w.t.Fatal(err)
	}
	testenv.Eventually(w.t, func() error {
		result, err := w.life(nil).destroy()
		if err == nil && len(result.Inventory) > 0 {
			err = errors.New(result.Changes.String())
		}
		return err
	})
}

// TestAnyHistory: for any sequence of sets, and any end of the process, one undisturbed run
// results in exactly the wanted objects.
func TestAnyHistory(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		w.reset()
		want := func() []apply.Object {
			var set []apply.Object
			for _, name := range []string{"a", "b", "c"} {
				if value := rapid.SampledFrom([]string{"", "x=1", "x=2", "y=1"}).Draw(r, name); value != "" {
					set = append(set, w.configMap(w.parent.Name+"-"+name, int32(len(set)%2), value))
				}
			}
			return set
		}
		for range rapid.IntRange(0, 3).Draw(r, "runs") {
			fault := &crash{after: rapid.IntRange(0, 5).Draw(r, "after"), late: rapid.Bool().Draw(r, "late")}
			_, err := w.life(fault.wrap).run(want()...)
			if err != nil && !errors.Is(err, errCrash) {
				r.Fatal(err)
			}
		}
		final, expected := want(), ""
		for i, o := range final {
			if i > 0 {
				expected += " "
			}
			for key, value := range o.Object["data"].(map[string]any) {
				expected += fmt.Sprintf("%s{%s=%s}", o.GetName(), key, value)
			}
		}
		if _, err := w.life(nil).run(final...); err != nil {
			r.Fatal(err)
		}
		if got := w.state(); got != expected {
			r.Fatalf("state is %s, want %s", got, expected)
		}
	})
}
