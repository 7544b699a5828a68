package graph_test

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/kinship-dev/kinship/pkg/graph"
)

const benchNodes = 10_000

// benchEdges gives every node up to four dependencies among lesser nodes.
func benchEdges() []pair {
	random := rand.New(rand.NewPCG(1, 2)) // fixed, so that runs compare
	var edges []pair
	for n := 1; n < benchNodes; n++ {
		for range random.IntN(5) {
			edges = append(edges, pair{n, random.IntN(n)})
		}
	}
	return edges
}

func benchGraph() *graph.Graph[int] {
	return build(benchEdges())
}

func build(edges []pair) *graph.Graph[int] {
	g := graph.New(cmp.Compare[int])
	for _, e := range edges {
		g.AddEdge(e.dependent, e.dependency)
	}
	return g
}

func BenchmarkBuild(b *testing.B) {
	edges := benchEdges()
	b.ReportAllocs()
	for b.Loop() {
		build(edges)
	}
}

func BenchmarkOrder(b *testing.B) {
	g := benchGraph()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Order(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLayers(b *testing.B) {
	g := benchGraph()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Layers(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWaves(b *testing.B) {
	g := benchGraph()
	b.ReportAllocs()
	for b.Loop() {
		g.Waves()
	}
}

// BenchmarkCycles measures the worst case: all nodes are in one component.
func BenchmarkCycles(b *testing.B) {
	g := benchGraph()
	for n := range benchNodes {
		g.AddEdge(n, (n+1)%benchNodes)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Cycles()
	}
}

func BenchmarkPath(b *testing.B) {
	g := benchGraph()
	b.ReportAllocs()
	for b.Loop() {
		graph.Path(benchNodes-1, -1, g.Dependencies) // no such node: the search visits all reachable nodes
	}
}
