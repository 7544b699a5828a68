package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/graph"
)

// outline prints a tree on one line: "a(b(c) c*)", with * for Repeated and +n for Hidden.
func outline(t *graph.Tree[string]) string {
	text := t.Node
	if t.Repeated {
		text += "*"
	}
	if t.Hidden > 0 {
		text += fmt.Sprintf("+%d", t.Hidden)
	}
	if len(t.Below) == 0 {
		return text
	}
	below := make([]string, len(t.Below))
	for i, b := range t.Below {
		below[i] = outline(b)
	}
	return text + "(" + strings.Join(below, " ") + ")"
}

func TestUnfold(t *testing.T) {
	cases := map[string]struct {
		reason, graph string
		depth         int
		want          string
	}{
		"leaf":     {"a node without edges is the whole tree", "a", 0, "a"},
		"diamond":  {"the first branch with d expands d", "a>b a>c b>d c>d d>e", 0, "a(b(d(e)) c(d*))"},
		"deep":     {"c is expanded below b, where the walk meets c first", "a>b a>c b>c c>d", 0, "a(b(c(d)) c*)"},
		"cycle":    {"a cycle ends at the repeated root", "a>b b>a", 0, "a(b(a*))"},
		"itself":   {"a node that owns itself is repeated once", "a>a a>b", 0, "a(a* b)"},
		"limit":    {"nodes at the limit count their neighbours", "a>b a>c b>d c>d c>e", 1, "a(b+1 c+2)"},
		"no limit": {"a limit beyond the depth changes nothing", "a>b b>c", 9, "a(b(c))"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := outline(graph.Unfold("a", tc.depth, parse(tc.graph).Dependencies))
			if got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestUnfoldIsDeep shows that a long chain needs no stack.
func TestUnfoldIsDeep(t *testing.T) {
	const length = 100_000
	tree := graph.Unfold(0, 0, func(n int) []int {
		if n == length {
			return nil
		}
		return []int{n + 1}
	})
	depth := 0
	for ; len(tree.Below) > 0; tree = tree.Below[0] {
		depth++
	}
	if depth != length {
		t.Errorf("the tree is %d deep, want %d", depth, length)
	}
}

func TestUnfoldExpandsEachNodeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		g := in.build()
		root := rapid.SampledFrom(in.nodes).Draw(t, "root")
		depth := rapid.IntRange(0, 4).Draw(t, "depth")
		expanded := map[int]bool{}
		var check func(tree *graph.Tree[int], level int)
		check = func(tree *graph.Tree[int], level int) {
			if tree.Repeated {
				if len(tree.Below) > 0 || tree.Hidden > 0 || !expanded[tree.Node] {
					t.Fatalf("repeated %d: %+v, expanded before: %t", tree.Node, tree, expanded[tree.Node])
				}
				return
			}
			if expanded[tree.Node] {
				t.Fatalf("%d is expanded twice", tree.Node)
			}
			expanded[tree.Node] = true
			want := g.Dependencies(tree.Node)
			if depth > 0 && level == depth {
				if tree.Hidden != len(want) || len(tree.Below) > 0 {
					t.Fatalf("%d at depth %d hides %d of %d", tree.Node, level, tree.Hidden, len(want))
				}
				return
			}
			got := make([]int, 0, len(want))
			for _, below := range tree.Below {
				got = append(got, below.Node)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("neighbours of %d (-want, +got):\n%s", tree.Node, diff)
			}
			for _, below := range tree.Below {
				check(below, level+1)
			}
		}
		check(graph.Unfold(root, depth, g.Dependencies), 0)
		if want := len(graph.Reachable(root, g.Dependencies)) + 1; depth == 0 && len(expanded) != want {
			t.Fatalf("%d nodes are expanded, and %d reachable", len(expanded), want)
		}
	})
}

func TestLevels(t *testing.T) {
	g := parse("a>b a>c b>d c>d d>a")
	next := func(calls *int) func([]string) []string {
		return func(level []string) []string {
			*calls++
			neighbours := make([]string, 0, len(level))
			for _, n := range level {
				neighbours = append(neighbours, g.Dependencies(n)...)
			}
			return neighbours
		}
	}
	cases := map[string]struct {
		reason    string
		from      []string
		depth     int
		want      string
		wantCalls int
	}{
		"all":     {"a cycle ends the search", []string{"a"}, 0, "a | b c | d", 3},
		"limited": {"next is called once for one level", []string{"a"}, 1, "a | b c", 1},
		"several": {"each node is in one level", []string{"a", "d", "a"}, 0, "a d | b c", 2},
		"nothing": {"without nodes next is not called", nil, 0, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			got := join(graph.Levels(tc.from, tc.depth, next(&calls)))
			if got != tc.want || calls != tc.wantCalls {
				t.Errorf("%s: got %q in %d calls, want %q in %d", tc.reason, got, calls, tc.want, tc.wantCalls)
			}
		})
	}
}

func TestLevelsAreDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		g := in.build()
		from := rapid.SampledFrom(in.nodes).Draw(t, "from")
		levels := graph.Levels([]int{from}, 0, func(level []int) (next []int) {
			for _, n := range level {
				next = append(next, g.Dependencies(n)...)
			}
			return next
		})
		for i, level := range levels {
			for _, n := range level {
				if n != from && distance(in, from, n) != i {
					t.Fatalf("%d is in level %d, and %d edges away", n, i, distance(in, from, n))
				}
			}
		}
		if got, want := len(slices.Concat(levels...)), len(graph.Reachable(from, g.Dependencies))+1; got != want {
			t.Fatalf("%d nodes, want %d: %v", got, want, levels)
		}
	})
}

func TestWalk(t *testing.T) {
	w := graph.NewWalk("root", 2)
	if w.Enter("root", func() { t.Error("the root was visited before") }) {
		t.Error("Enter reports that it entered the root")
	}
	if !w.Mark("marked") || w.Mark("marked") || !w.Visited("marked") || w.Visited("new") {
		t.Error("Mark reports a node as new once")
	}
	var depths []int
	entered := w.Enter("a", func() {
		depths = append(depths, w.Depth())
		w.Enter("b", func() {
			depths = append(depths, w.Depth())
			if !w.AtLimit() || w.Enter("c", func() {}) || w.Visited("c") {
				t.Error("the walk went deeper than its limit, or marked a node that it did not enter")
			}
		})
		if w.Enter("marked", func() {}) {
			t.Error("a marked node was entered")
		}
	})
	if !entered || w.Depth() != 0 || w.AtLimit() {
		t.Errorf("entered %t, then at depth %d", entered, w.Depth())
	}
	if diff := gocmp.Diff([]int{1, 2}, depths); diff != "" {
		t.Errorf("depths (-want, +got):\n%s", diff)
	}
}

func TestWalkEntersEachReachableNodeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		g := in.build()
		root := rapid.SampledFrom(in.nodes).Draw(t, "root")
		w := graph.NewWalk(root, len(in.nodes))
		var got []int
		var follow func(n int)
		follow = func(n int) {
			for _, next := range g.Dependencies(n) {
				w.Enter(next, func() {
					got = append(got, next)
					follow(next)
				})
			}
		}
		follow(root)
		want := graph.Reachable(root, g.Dependencies)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(want, got) {
			t.Fatalf("entered %v, reachable are %v", got, want)
		}
	})
}
