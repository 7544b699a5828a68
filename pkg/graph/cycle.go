package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxPrinted is how many members of a cycle [CycleError.String] names.
const maxPrinted = 64

// CycleError reports nodes that wait for one another in a cycle.
type CycleError[T comparable] struct {
	// Path holds each member once: Path[i] waits for Path[i+1], and the last member
	// waits for Path[0].
	Path []T
	// Format prints a member. A nil Format means fmt.Sprint, which calls String() if
	// the type has that method.
	Format func(T) string
}

// Error returns `cycle: a -> b -> a`.
func (e *CycleError[T]) Error() string { return "cycle: " + e.String() }

// String returns `a -> b -> a`. For a cycle with more than 64 members, String leaves
// out the middle and prints `(N more)` instead.
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

// Cycles returns one cycle, such as `[a b]` for `a -> b -> a`, for each strongly connected
// component with more than 1 node, and for each node that waits for itself. The cycle is a
// shortest cycle through the least member of the component and begins with that member. A
// cycle names each member once, as [CycleError.Path] does. Cycles are sorted by their first
// member.
func (g *Graph[T]) Cycles() [][]T {
	v := g.view()
	return v.cycles(components(v.dependencies))
}

// CycleThrough returns a shortest cycle that begins with the node, or nil. The
// condition of an object shows CycleThrough of that object: [Graph.Cycles] may have
// chosen a cycle of the same component that bypasses the object.
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

// closed reports whether a component from components() has a cycle.
func (v *view[T]) closed(members []int) bool {
	return len(members) > 1 || slices.Contains(v.dependencies[members[0]], members[0])
}

// shortest returns a shortest cycle through first. The search stays inside the
// component `in[first]`, so a long chain of dependencies outside costs nothing.
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
