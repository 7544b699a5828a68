package relation

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEdgeSet holds that a set is a set on both sides of fewEdges.
func TestEdgeSet(t *testing.T) {
	edges := make([]entry, 2*fewEdges)
	rapid.Check(t, func(t *rapid.T) {
		var s edgeSet
		want := map[*entry]struct{}{}
		adds := rapid.IntRange(0, len(edges)).Draw(t, "adds")
		for i := range adds {
			s.add(&edges[i])
			want[&edges[i]] = struct{}{}
		}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(edges)-1)).Draw(t, "removals") {
			s.remove(&edges[i])
			delete(want, &edges[i])
		}
		if got := slices.Collect(s.all()); len(got) != len(want) {
			t.Fatalf("%d edges, want %d", len(got), len(want))
		}
		got := maps.Collect(func(yield func(*entry, struct{}) bool) {
			for e := range s.all() {
				if !yield(e, struct{}{}) {
					return
				}
			}
		})
		if !maps.Equal(want, got) || s.empty() != (len(want) == 0) {
			t.Fatalf("empty %t (-want +got):\n%s", s.empty(), cmp.Diff(len(want), len(got)))
		}
	})
}
