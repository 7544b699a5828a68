package graph

import "slices"

// view is a [Graph] in which each node is replaced by its rank in the sorted order, and
// every adjacency list ascends. All algorithms run on a view, so their answers do not
// depend on the order of AddEdge calls.
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

// transposed reverses the edges of adjacency lists. transposed visits the nodes by
// ascending rank, so each list of the result ascends without slices.Sort.
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

// named returns `v.nodes[r]` for each rank r, in the order of ranks.
func (v *view[T]) named(ranks []int) []T {
	values := make([]T, len(ranks))
	for i, r := range ranks {
		values[i] = v.nodes[r]
	}
	return values
}
