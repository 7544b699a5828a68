package graph

// Walk is a depth-first walk whose caller takes the steps. [NewWalk] returns one.
// A Walk enters each node once and never goes deeper than its limit. Use a Walk
// instead of [Unfold] where the neighbours of a node depend on what the caller
// found on the way.
type Walk[T comparable] struct {
	visited      map[T]struct{}
	depth, limit int
}

// NewWalk returns a Walk that has visited root and takes at most limit steps in a row.
func NewWalk[T comparable](root T, limit int) *Walk[T] {
	return &Walk[T]{visited: map[T]struct{}{root: {}}, limit: limit}
}

// Enter calls visit(), during which [Walk.Depth] is one more, unless the node was
// visited before or the walk is as deep as its limit. Enter reports whether it
// called visit.
func (w *Walk[T]) Enter(node T, visit func()) bool {
	if w.AtLimit() || !w.Mark(node) {
		return false
	}
	w.depth++
	defer func() { w.depth-- }()
	visit()
	return true
}

// Mark counts a node as visited by the [Walk] and reports whether the node is new.
func (w *Walk[T]) Mark(node T) bool {
	if w.Visited(node) {
		return false
	}
	w.visited[node] = struct{}{}
	return true
}

// Visited reports whether [Walk.Enter] or [Walk.Mark] visited a node, or the node is the root.
func (w *Walk[T]) Visited(node T) bool {
	_, known := w.visited[node]
	return known
}

// Depth returns how many calls of visit() are on the way; 0 at the root.
func (w *Walk[T]) Depth() int { return w.depth }

// AtLimit reports whether Enter takes no further step from here.
func (w *Walk[T]) AtLimit() bool { return w.depth >= w.limit }
