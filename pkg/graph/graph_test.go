package graph_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/graph"
)

// parse reads "a>b c" as: a waits for b, and there is a node c.
func parse(text string) *graph.Graph[string] {
	g := graph.New(strings.Compare)
	for field := range strings.FieldsSeq(text) {
		dependent, dependency, isEdge := strings.Cut(field, ">")
		if isEdge {
			g.AddEdge(dependent, dependency)
		} else {
			g.AddNode(dependent)
		}
	}
	return g
}

// join prints groups as "a b | c".
func join(groups [][]string) string {
	texts := make([]string, len(groups))
	for i, group := range groups {
		texts[i] = strings.Join(group, " ")
	}
	return strings.Join(texts, " | ")
}

func TestOrdering(t *testing.T) {
	cases := map[string]struct {
		reason               string
		graph                string
		order, layers, waves string
	}{
		"empty": {reason: "nothing to do is not an error"},
		"unrelated": {
			reason: "without edges everything happens at once, and the least is named first",
			graph:  "c a b", order: "a b c", layers: "a b c", waves: "a b c",
		},
		"chain": {
			reason: "a port waits for its subnet, which waits for its network",
			graph:  "port>subnet subnet>network",
			order:  "network subnet port", layers: "network | subnet | port", waves: "port | subnet | network",
		},
		"diamond": {
			reason: "both sides of a diamond proceed in parallel",
			graph:  "d>b d>c b>a c>a",
			order:  "a b c d", layers: "a | b c | d", waves: "d | b c | a",
		},
		"short cut": {
			reason: "the longest way decides the layer, not the shortest",
			graph:  "c>a c>b b>a",
			order:  "a b c", layers: "a | b | c", waves: "c | b | a",
		},
		"loner beside a chain": {
			reason: "nobody needs the loner, so it goes with the first wave; layers read backwards would make it wait",
			graph:  "loner c>b b>a",
			order:  "a b c loner", layers: "a loner | b | c", waves: "c loner | b | a",
		},
		"edge twice": {
			reason: "the same relation from two fields is one edge",
			graph:  "b>a b>a", order: "a b", layers: "a | b", waves: "b | a",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := parse(tc.graph)
			order, err := g.Order()
			if err != nil {
				t.Fatal(err)
			}
			layers, err := g.Layers()
			if err != nil {
				t.Fatal(err)
			}
			got := []string{strings.Join(order, " "), join(layers), join(g.Waves())}
			if diff := gocmp.Diff([]string{tc.order, tc.layers, tc.waves}, got); diff != "" {
				t.Errorf("%s: order, layers, waves (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	cases := map[string]struct {
		reason, graph, cycles, err, waves string
	}{
		"of two": {
			reason: "it begins with its least member, however it was entered",
			graph:  "b>a a>b", cycles: "a b", err: "cycle: a -> b -> a", waves: "a b",
		},
		"self": {
			reason: "waiting for oneself is a cycle of one",
			graph:  "a>a b>a", cycles: "a", err: "cycle: a -> a", waves: "b | a",
		},
		"with a tail on both ends": {
			reason: "what waits for a cycle, or is waited for by it, is not part of it",
			graph:  "x>a a>b b>c c>a c>y", cycles: "a b c", err: "cycle: a -> b -> c -> a", waves: "x | a b c | y",
		},
		"two ways round": {
			reason: "the shorter one is shown",
			graph:  "a>b b>c c>a b>a", cycles: "a b", err: "cycle: a -> b -> a", waves: "a b c",
		},
		"two equally short": {
			reason: "the one over the lesser neighbour is shown",
			graph:  "a>c c>a a>b b>a", cycles: "a b", err: "cycle: a -> b -> a", waves: "a b c",
		},
		"two cycles in a row": {
			reason: "each is shown, in the order of their first members, and the error shows the first",
			graph:  "c>d d>c d>a a>b b>a", cycles: "a b | c d", err: "cycle: a -> b -> a", waves: "c d | a b",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := parse(tc.graph)
			_, orderErr := g.Order()
			_, layersErr := g.Layers()
			got := []string{join(g.Cycles()), fmt.Sprint(orderErr), fmt.Sprint(layersErr), join(g.Waves())}
			if diff := gocmp.Diff([]string{tc.cycles, tc.err, tc.err, tc.waves}, got); diff != "" {
				t.Errorf("%s: cycles, errors, waves (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCycleThroughAMemberThatCyclesBypasses(t *testing.T) {
	g := parse("a>b b>a b>c c>b")
	if diff := gocmp.Diff([][]string{{"a", "b"}}, g.Cycles()); diff != "" {
		t.Errorf("Cycles (-want, +got):\n%s", diff)
	}
	for node, want := range map[string][]string{"a": {"a", "b"}, "c": {"c", "b"}, "unknown": nil} {
		if diff := gocmp.Diff(want, g.CycleThrough(node)); diff != "" {
			t.Errorf("CycleThrough(%s) (-want, +got):\n%s", node, diff)
		}
	}
	if cycle := parse("b>a a>a").CycleThrough("b"); cycle != nil {
		t.Errorf("b only leads to a cycle, and yet CycleThrough(b) = %v", cycle)
	}
}

func TestCycleErrorText(t *testing.T) {
	long := make([]int, 1000)
	for i := range long {
		long[i] = i
	}
	err := fmt.Errorf("admit: %w", &graph.CycleError[int]{Path: long})
	if text := err.Error(); !strings.Contains(text, "31 -> (936 more) -> 968") || len(text) > 1000 {
		t.Errorf("a long cycle prints as %q", text)
	}
	var cycle *graph.CycleError[int]
	if !errors.As(err, &cycle) || len(cycle.Path) != 1000 {
		t.Error("the whole path is lost on the caller")
	}
	cycle = &graph.CycleError[int]{Path: []int{1, 2}, Format: func(i int) string { return fmt.Sprintf("<%d>", i) }}
	if want := "<1> -> <2> -> <1>"; cycle.String() != want {
		t.Errorf("String() = %q, want %q", cycle, want)
	}
	if text := (&graph.CycleError[int]{}).Error(); text != "cycle: no members" {
		t.Errorf("an empty path prints as %q", text)
	}
}

func TestNeighbours(t *testing.T) {
	g := parse("z>b z>a y>a")
	got := [][]string{g.Nodes(), g.Dependencies("z"), g.Dependents("a"), g.Dependencies("a"), g.Dependencies("unknown")}
	want := [][]string{{"a", "b", "y", "z"}, {"a", "b"}, {"y", "z"}, {}, nil}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("neighbours (-want, +got):\n%s", diff)
	}
	if g.Len() != 4 || !g.Has("z") || g.Has("unknown") {
		t.Errorf("Len() = %d, Has(z) = %t, Has(unknown) = %t", g.Len(), g.Has("z"), g.Has("unknown"))
	}
}

func TestPath(t *testing.T) {
	next := func(node string) []string {
		return map[string][]string{"a": {"c", "b"}, "b": {"d"}, "c": {"d"}, "d": {"a"}}[node]
	}
	cases := map[string]struct {
		reason, from, to string
		want             []string
	}{
		"two ways":    {"the one found first in the order of next wins", "a", "d", []string{"a", "c", "d"}},
		"to itself":   {"no step is needed, cycle or not", "a", "a", []string{"a"}},
		"no way":      {"a cycle on the way does not keep the search from ending", "a", "x", nil},
		"from a leaf": {"a node without neighbours leads nowhere", "x", "a", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(tc.want, graph.Path(tc.from, tc.to, next)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if diff := gocmp.Diff([]string{"c", "b", "d"}, graph.Reachable("a", next)); diff != "" {
		t.Errorf("Reachable(a), nearest first and without a itself (-want, +got):\n%s", diff)
	}
}

// TestDepth would overflow a stack or take minutes if anything recursed or was
// quadratic.
func TestDepth(t *testing.T) {
	const depth = 100_000
	g := graph.New(cmp.Compare[int])
	for i := range depth - 1 {
		g.AddEdge(i, i+1)
	}
	order, err := g.Order()
	if err != nil || len(order) != depth || order[0] != depth-1 {
		t.Fatalf("Order() = %d nodes, %v", len(order), err)
	}
	layers, err := g.Layers()
	if err != nil || len(layers) != depth {
		t.Fatalf("Layers() = %d layers, %v", len(layers), err)
	}
	if waves := g.Waves(); len(waves) != depth {
		t.Fatalf("Waves() = %d waves", len(waves))
	}
	if path := graph.Path(0, depth-1, g.Dependencies); len(path) != depth {
		t.Fatalf("Path() = %d nodes", len(path))
	}
	if cycles := g.Cycles(); len(cycles) != 0 {
		t.Fatalf("Cycles() = %d", len(cycles))
	}

	g.AddEdge(depth-1, 0)
	if cycles := g.Cycles(); len(cycles) != 1 || len(cycles[0]) != depth {
		t.Fatalf("the closed chain has %d cycles", len(cycles))
	}
}
