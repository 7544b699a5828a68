package graph

import (
	"container/heap"
	"slices"
)

// Order returns all nodes, every dependency before its dependents. If several nodes
// could come next, the least node comes next: `network, subnet, port` for the edges
// `port -> subnet` and `subnet -> network`. In a [Graph] with cycles, Order returns a
// [*CycleError] with the first cycle of [Graph.Cycles].
func (g *Graph[T]) Order() ([]T, error) {
	v := g.view()
	waits := make([]int, len(v.nodes))
	var ready ranks
	for r, dependencies := range v.dependencies {
		waits[r] = len(dependencies)
		if waits[r] == 0 {
			ready = append(ready, r) // ready ascends, so ready is a heap.
		}
	}
	order := make([]int, 0, len(v.nodes))
	for len(ready) > 0 {
		r := heap.Pop(&ready).(int)
		order = append(order, r)
		for _, dependent := range v.dependents[r] {
			waits[dependent]--
			if waits[dependent] == 0 {
				heap.Push(&ready, dependent)
			}
		}
	}
	if len(order) < len(v.nodes) {
		return nil, v.cycleError(components(v.dependencies))
	}
	return v.named(order), nil
}

// Layers groups the nodes for creation: `[network] [subnet] [port]`. The nodes of the first layer wait for nothing.
// Every other node is in the layer after the last layer with one of its dependencies.
// Each layer is sorted. In a [Graph] with cycles, Layers returns a [*CycleError] as
// [Graph.Order] does.
func (g *Graph[T]) Layers() ([][]T, error) {
	v := g.view()
	groups := components(v.dependencies)
	if err := v.cycleError(groups); err != nil {
		return nil, err
	}
	// components() returns dependencies first; levels() pushes the dependents back.
	return v.levels(groups, v.dependents), nil
}

// Waves groups the nodes for deletion: `[port] [subnet] [network]`. The nodes of the first wave have no dependents.
// Every other node is in the wave after the last wave with one of its dependents. So
// each node is deleted as early as possible, and Waves differs from [Graph.Layers]
// read backwards. Members of a cycle share 1 wave. Each wave is sorted.
func (g *Graph[T]) Waves() [][]T {
	v := g.view()
	groups := components(v.dependencies)
	slices.Reverse(groups)
	return v.levels(groups, v.dependencies)
}

// levels puts group i 1 level after the last group from which next leads to group i.
// The groups MUST be in an order in which next only leads forward.
func (v *view[T]) levels(groups [][]int, next [][]int) [][]T {
	in := groupOf(groups, len(v.nodes))
	level := make([]int, len(groups))
	levelOf := make([]int, len(v.nodes))
	depth := 0
	for i, members := range groups {
		depth = max(depth, level[i]+1)
		for _, r := range members {
			levelOf[r] = level[i]
			pushBack(level, in, i, next[r])
		}
	}
	result := make([][]T, depth)
	for r, l := range levelOf {
		result[l] = append(result[l], v.nodes[r])
	}
	return result
}

// pushBack raises level[j] of each node's group j above level[i].
func pushBack(level, in []int, i int, nodes []int) {
	for _, r := range nodes {
		if j := in[r]; j != i {
			level[j] = max(level[j], level[i]+1)
		}
	}
}

// ranks implements heap.Interface, least rank first.
type ranks []int

func (h ranks) Len() int           { return len(h) }
func (h ranks) Less(i, j int) bool { return h[i] < h[j] }
func (h ranks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *ranks) Push(r any) { *h = append(*h, r.(int)) }

// Pop implements heap.Interface.
func (h *ranks) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
