package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxPrinted bounds how many members of a cycle an error text names.
const maxPrinted = 64

// CycleError says that nodes wait for one another in a circle.
type CycleError[T comparable] struct {
	// Path holds each member once: every member waits for the next one, and the
	// last for the first.
	Path []T
	// Format prints a member; fmt.Sprint does if it is nil, which calls String
	// where there is one.
	Format func(T) string
}

// Error returns "cycle: a -> b -> a".
func (e *CycleError[T]) Error() string { return "cycle: " + e.String() }

// String returns "a -> b -> a". Of a cycle with more than 64 members it leaves
// out the middle and says how many.
func (e *CycleError[T]) String() string {
	if len(e.Path) == 0 {
		return "no members"
	}
	format := e.Format
	if format == nil {
		format = func(node T) string { return fmt.Sprint(node) }
	}
	var names []string
	for i, node := range e.Path {
		if left := len(e.Path) - maxPrinted; left > 0 && i >= maxPrinted/2 && i < maxPrinted/2+left {
			continue
		}
		names = append(names, format(node))
	}
	if left := len(e.Path) - maxPrinted; left > 0 {
		names = slices.Insert(names, maxPrinted/2, fmt.Sprintf("(%d more)", left))
	}
	return strings.Join(append(names, names[0]), " -> ")
}

// Cycles returns one concrete cycle for every set of nodes that all reach one
// another, and for every node that waits for itself: a shortest one through the
// least member of the set, beginning with it. Each member is named once, as in
// [CycleError.Path]. The cycles are sorted by their first member. Without cycles
// the result is empty.
func (g *Graph[T]) Cycles() [][]T {
	v := g.view()
	return v.cycles(components(v.dependencies))
}

// CycleThrough returns a shortest cycle through the node, beginning with it, or
// nil if there is none. It is what a condition on that very member shows, where
// [Graph.Cycles] may have chosen a cycle that bypasses it.
func (g *Graph[T]) CycleThrough(node T) []T {
	if !g.Has(node) {
		return nil
	}
	return newBreadth(node).run(g.Dependencies, func(target T) bool { return target == node })
}

func (v *view[T]) cycles(groups [][]int) [][]T {
	var cycles [][]int
	in := groupOf(groups, len(v.nodes))
	for _, members := range groups {
		if v.closed(members) {
			cycles = append(cycles, v.shortest(members[0], in))
		}
	}
	slices.SortFunc(cycles, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	result := make([][]T, len(cycles))
	for i, cycle := range cycles {
		result[i] = v.named(cycle)
	}
	return result
}

// closed reports whether a component holds a cycle at all.
func (v *view[T]) closed(members []int) bool {
	return len(members) > 1 || slices.Contains(v.dependencies[members[0]], members[0])
}

// shortest returns a shortest cycle through first. It never leaves the component
// of first, so that a long tail of dependencies behind it costs nothing.
func (v *view[T]) shortest(first int, in []int) []int {
	inside := func(r int) []int {
		return slices.DeleteFunc(slices.Clone(v.dependencies[r]), func(to int) bool { return in[to] != in[first] })
	}
	return newBreadth(first).run(inside, func(target int) bool { return target == first })
}

func (v *view[T]) cycleError(groups [][]int) error {
	cycles := v.cycles(groups)
	if len(cycles) == 0 {
		return nil
	}
	return &CycleError[T]{Path: cycles[0]}
}
