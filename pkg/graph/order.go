package graph

import (
	"container/heap"
	"slices"
)

// Order returns all nodes, every dependency before its dependents. Whenever
// several nodes could come next, the least does. It fails with a [*CycleError]
// that shows the first of [Graph.Cycles].
func (g *Graph[T]) Order() ([]T, error) {
	v := g.view()
	waits := make([]int, len(v.nodes))
	var ready ranks
	for r, dependencies := range v.dependencies {
		waits[r] = len(dependencies)
		if waits[r] == 0 {
			ready = append(ready, r) // ascending, so it is a heap already
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

// Layers groups the nodes for creation. The first layer waits for nothing; every
// other node comes in the layer right after the last of its dependencies. Each
// layer is sorted. It fails with a [*CycleError] as [Graph.Order] does.
func (g *Graph[T]) Layers() ([][]T, error) {
	v := g.view()
	groups := components(v.dependencies)
	if err := v.cycleError(groups); err != nil {
		return nil, err
	}
	// components come dependencies first; each pushes its dependents back.
	return v.levels(groups, v.dependents), nil
}

// Waves groups the nodes for deletion. Nothing depends on the first wave; every
// other node comes in the wave right after the last of its dependents, so each
// goes as early as it may (which is why Waves is not Layers read backwards).
// Members of a cycle share one wave. Each wave is sorted.
func (g *Graph[T]) Waves() [][]T {
	v := g.view()
	groups := components(v.dependencies)
	slices.Reverse(groups)
	return v.levels(groups, v.dependencies)
}

// levels puts each group one level after the last group that leads to it by
// next. The groups must come in an order in which next only leads forward.
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

// pushBack moves the groups of the given nodes behind group i.
func pushBack(level, in []int, i int, nodes []int) {
	for _, r := range nodes {
		if j := in[r]; j != i {
			level[j] = max(level[j], level[i]+1)
		}
	}
}

// ranks is a heap of ranks, least first.
type ranks []int

func (h ranks) Len() int           { return len(h) }
func (h ranks) Less(i, j int) bool { return h[i] < h[j] }
func (h ranks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap only.
func (h *ranks) Push(r any) { *h = append(*h, r.(int)) }

// Pop is for package heap only.
func (h *ranks) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
