package graph_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/graph"
)

type pair struct{ dependent, dependency int }

// input is a graph in a form that knows nothing of package graph.
type input struct {
	nodes []int
	edges []pair
}

func (in input) build() *graph.Graph[int] {
	g := graph.New(cmp.Compare[int])
	for _, n := range in.nodes {
		g.AddNode(n)
	}
	for _, e := range in.edges {
		g.AddEdge(e.dependent, e.dependency)
	}
	return g
}

func (in input) has(dependent, dependency int) bool {
	return slices.Contains(in.edges, pair{dependent, dependency})
}

func inputs(maxNodes int) *rapid.Generator[input] {
	return rapid.Custom(func(t *rapid.T) input {
		n := rapid.IntRange(1, maxNodes).Draw(t, "n")
		node := rapid.IntRange(0, n-1)
		edge := rapid.Custom(func(t *rapid.T) pair { return pair{node.Draw(t, "dependent"), node.Draw(t, "dependency")} })
		in := input{edges: rapid.SliceOfN(edge, 0, 3*n).Draw(t, "edges")}
		for i := range n {
			in.nodes = append(in.nodes, i)
		}
		return in
	})
}

// acyclic turns every edge downwards.
func acyclic(in input) input {
	var edges []pair
	for _, e := range in.edges {
		if e.dependent != e.dependency {
			edges = append(edges, pair{max(e.dependent, e.dependency), min(e.dependent, e.dependency)})
		}
	}
	return input{nodes: in.nodes, edges: edges}
}

func TestOrderRespectsEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := acyclic(inputs(20).Draw(t, "graph"))
		order, err := in.build().Order()
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(in.nodes, slices.Sorted(slices.Values(order))); diff != "" {
			t.Fatalf("the order is no permutation of the nodes (-want, +got):\n%s", diff)
		}
		for _, e := range in.edges {
			if slices.Index(order, e.dependency) > slices.Index(order, e.dependent) {
				t.Fatalf("%d comes before its dependency %d", e.dependent, e.dependency)
			}
		}
	})
}

func TestLayersAndWavesPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := acyclic(inputs(20).Draw(t, "graph"))
		g := in.build()
		layers, err := g.Layers()
		if err != nil {
			t.Fatal(err)
		}
		checkLevels(t, in, layers, g.Dependencies)
		checkLevels(t, in, g.Waves(), g.Dependents)
	})
}

// checkLevels checks that every node is in exactly one level, directly after the last level
// with a predecessor.
func checkLevels(t *rapid.T, in input, levels [][]int, before func(int) []int) {
	levelOf := map[int]int{}
	var all []int
	for i, level := range levels {
		if len(level) == 0 || !slices.IsSorted(level) {
			t.Fatalf("level %d is %v", i, level)
		}
		for _, n := range level {
			levelOf[n] = i
		}
		all = append(all, level...)
	}
	slices.Sort(all)
	if diff := gocmp.Diff(in.nodes, all); diff != "" {
		t.Fatalf("levels do not partition the nodes (-want, +got):\n%s", diff)
	}
	for _, n := range in.nodes {
		want := 0
		for _, b := range before(n) {
			want = max(want, levelOf[b]+1)
		}
		if levelOf[n] != want {
			t.Fatalf("%d is in level %d, want %d", n, levelOf[n], want)
		}
	}
}

func TestCyclesAreCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		checkCycles(t, in)
	})
}

// fataler is the common interface of rapid.T and testing.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

func checkCycles(t fataler, in input) {
	g := in.build()
	reach := closure(in)
	cycles := g.Cycles()
	covered := map[int]bool{}
	for _, cycle := range cycles {
		checkCycle(t, in, reach, cycle)
		covered[component(in, reach, cycle[0])] = true
	}
	for _, n := range in.nodes {
		if reach[n][n] != (g.CycleThrough(n) != nil) {
			t.Fatalf("CycleThrough(%d) = %v, but on a cycle is %t", n, g.CycleThrough(n), reach[n][n])
		}
		if reach[n][n] && !covered[component(in, reach, n)] {
			t.Fatalf("%d is on a cycle that is not reported: %v", n, cycles)
		}
	}
	if len(covered) != len(cycles) {
		t.Fatalf("a component is reported twice: %v", cycles)
	}
	_, err := g.Order()
	var cycleErr *graph.CycleError[int]
	if errors.As(err, &cycleErr) != (len(cycles) > 0) {
		t.Fatalf("Order says %v, cycles are %v", err, cycles)
	}
	if cycleErr != nil && !slices.Equal(cycleErr.Path, cycles[0]) {
		t.Fatalf("Order shows %v instead of the first of %v", cycleErr.Path, cycles)
	}
}

// checkCycle checks one cycle: real edges, least member first, and no shorter cycle exists.
func checkCycle(t fataler, in input, reach [][]bool, cycle []int) {
	for i, n := range cycle {
		if !in.has(n, cycle[(i+1)%len(cycle)]) {
			t.Fatalf("%v is no cycle: no edge leaves %d for the next", cycle, n)
		}
	}
	if least := component(in, reach, cycle[0]); least != cycle[0] {
		t.Fatalf("%v does not begin with the least member %d", cycle, least)
	}
	if want := distance(in, cycle[0], cycle[0]); len(cycle) != want {
		t.Fatalf("%v has length %d, the shortest has %d", cycle, len(cycle), want)
	}
}

// closure computes by brute force (Warshall) which nodes lead to which nodes by at least one
// edge.
func closure(in input) [][]bool {
	reach := make([][]bool, len(in.nodes))
	for i := range reach {
		reach[i] = make([]bool, len(in.nodes))
	}
	for _, e := range in.edges {
		reach[e.dependent][e.dependency] = true
	}
	for k := range reach {
		for i := range reach {
			for j := range reach {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	return reach
}

// component returns the least node that reaches n and that n reaches.
func component(in input, reach [][]bool, n int) int {
	for _, m := range in.nodes {
		if m == n || reach[m][n] && reach[n][m] {
			return m
		}
	}
	return n
}

// distance computes by brute force (Bellman-Ford) the number of edges, at least one, of the
// shortest walk between two nodes; 0 means that there is no walk.
func distance(in input, from, to int) int {
	const none = 1 << 30
	best := slices.Repeat([]int{none}, len(in.nodes))
	for _, e := range in.edges {
		if e.dependent == from {
			best[e.dependency] = 1
		}
	}
	for range in.nodes {
		for _, e := range in.edges {
			best[e.dependency] = min(best[e.dependency], best[e.dependent]+1)
		}
	}
	if best[to] >= none {
		return 0
	}
	return best[to]
}

func TestPathIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		g := in.build()
		from := rapid.SampledFrom(in.nodes).Draw(t, "from")
		to := rapid.SampledFrom(in.nodes).Draw(t, "to")
		path := graph.Path(from, to, g.Dependencies)
		want := 0
		if from != to {
			want = distance(in, from, to)
		}
		if path == nil {
			if from == to || want != 0 {
				t.Fatalf("no path from %d to %d, but there is one of %d edges", from, to, want)
			}
			return
		}
		if path[0] != from || path[len(path)-1] != to || len(path) != want+1 {
			t.Fatalf("path %v from %d to %d; the shortest has %d edges", path, from, to, want)
		}
		for i := range len(path) - 1 {
			if !in.has(path[i], path[i+1]) {
				t.Fatalf("path %v uses an edge that is not there after %d", path, path[i])
			}
		}
	})
}

func TestReachableIsTheClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		g := in.build()
		reach := closure(in)
		for _, from := range in.nodes {
			var want []int
			for _, to := range in.nodes {
				if to != from && reach[from][to] {
					want = append(want, to)
				}
			}
			got := slices.Sorted(slices.Values(graph.Reachable(from, g.Dependencies)))
			if !slices.Equal(want, got) {
				t.Fatalf("from %d: got %v, want %v", from, got, want)
			}
		}
	})
}

// answers is everything a graph can say.
type answers struct {
	Nodes, Order          []int
	Layers, Waves, Cycles [][]int
	Through               map[int][]int
	Err                   string
}

func ask(g *graph.Graph[int]) answers {
	a := answers{Nodes: g.Nodes(), Waves: g.Waves(), Cycles: g.Cycles(), Through: map[int][]int{}}
	var err error
	if a.Order, err = g.Order(); err != nil {
		a.Err = err.Error()
	}
	a.Layers, _ = g.Layers()
	for _, n := range a.Nodes {
		a.Through[n] = g.CycleThrough(n)
	}
	return a
}

func TestOrderOfInsertionNeverShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs(12).Draw(t, "graph")
		shuffled := input{
			nodes: rapid.Permutation(in.nodes).Draw(t, "nodes"),
			edges: rapid.Permutation(in.edges).Draw(t, "edges"),
		}
		if diff := gocmp.Diff(ask(in.build()), ask(shuffled.build())); diff != "" {
			t.Fatalf("the same graph answers differently:\n%s", diff)
		}
	})
}

// FuzzGraph reads bytes as edges between 16 nodes and checks every answer
// against brute force.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x10, 0x21, 0x32})
	f.Add([]byte{0x01, 0x10, 0x12, 0x21, 0x33})
	f.Fuzz(func(t *testing.T, data []byte) {
		var in input
		for i := range 16 {
			in.nodes = append(in.nodes, i)
		}
		for _, b := range data {
			in.edges = append(in.edges, pair{int(b >> 4), int(b & 15)})
		}
		checkCycles(t, in)
		reach := closure(in)
		var all []int
		for _, wave := range in.build().Waves() {
			for _, n := range wave {
				checkNotBefore(t, reach, n, all)
			}
			all = append(all, wave...)
		}
		slices.Sort(all)
		if !slices.Equal(all, in.nodes) {
			t.Fatalf("waves hold %v", all)
		}
	})
}

// checkNotBefore checks that no dependent of n is in a later wave than n.
func checkNotBefore(t fataler, reach [][]bool, n int, earlier []int) {
	for _, e := range earlier {
		if reach[n][e] {
			t.Fatalf("%d depends on %d, which went in an earlier wave", n, e)
		}
	}
}
