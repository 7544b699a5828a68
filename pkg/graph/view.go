package graph

import "slices"

// view is the graph with nodes renamed to their rank in the sorted order, and
// every adjacency list ascending. All algorithms run on it, which is what makes
// their answers independent of the order of insertion.
type view[T comparable] struct {
	nodes                    []T
	dependencies, dependents [][]int
}

func (g *Graph[T]) view() *view[T] {
	order := make([]int, len(g.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return g.compare(g.nodes[a], g.nodes[b]) })

	v := &view[T]{nodes: make([]T, len(order))}
	rank := make([]int, len(order))
	for r, at := range order {
		v.nodes[r] = g.nodes[at]
		rank[at] = r
	}
	v.dependencies = transposed(g.dependents, order, rank)
	v.dependents = transposed(g.dependencies, order, rank)
	return v
}

// transposed turns the given adjacency lists around. Because it walks the nodes
// in ascending rank, each resulting list is ascending without being sorted.
func transposed(adjacent [][]int, order, rank []int) [][]int {
	result := make([][]int, len(order))
	for r, at := range order {
		for _, neighbour := range adjacent[at] {
			n := rank[neighbour]
			result[n] = append(result[n], r)
		}
	}
	return result
}

// named returns the nodes with the given ranks, in the order given.
func (v *view[T]) named(ranks []int) []T {
	values := make([]T, len(ranks))
	for i, r := range ranks {
		values[i] = v.nodes[r]
	}
	return values
}
