package graph

import "slices"

// Path returns a shortest path from one node to another along next(), both ends included,
// or nil. `Path(a, a, next)` is `[a]`. Among several shortest paths, the order in which
// next returns neighbours decides. Path calls next() at most once for each node, so a
// cycle does no harm.
//
// A new edge from source to target closes a cycle if `Path(target, source, dependencies)`
// is not nil. With source moved to the front, the path is a [CycleError.Path].
func Path[T comparable](from, to T, next func(T) []T) []T {
	path, _ := Find([]T{from}, 0, next, func(node T) bool { return node == to })
	return path
}

// Find returns a shortest path along next() from a node in from to a node for which accept
// returns true, both ends included, or nil. Find is [Path] for graphs of unknown size,
// such as edges that users declare: with limit > 0, Find looks at no more than limit
// nodes, and whole reports whether Find has seen all reachable nodes.
func Find[T comparable](from []T, limit int, next func(T) []T, accept func(T) bool) (path []T, whole bool) {
	s := &breadth[T]{seen: map[T]struct{}{}, limit: limit}
	for _, node := range from {
		if s.add(node, -1) && accept(node) {
			return []T{node}, true
		}
	}
	var end T
	path = s.run(next, func(target T) bool {
		if _, known := s.seen[target]; known || !accept(target) {
			return false
		}
		end = target
		return true
	})
	if path != nil {
		return append(path, end), true
	}
	return nil, !s.cut
}

// Reachable returns all nodes that from leads to along next(), nearest first, in the order
// in which next() returns neighbours. The result never contains from, not even on a cycle.
func Reachable[T comparable](from T, next func(T) []T) []T {
	s := newBreadth(from)
	s.run(next, func(T) bool { return false })
	reached := make([]T, 0, len(s.steps)-1)
	for _, step := range s.steps[1:] {
		reached = append(reached, step.node)
	}
	return reached
}

// breadth is a breadth-first search. The field steps is the queue, and step.via leads
// back to the start.
type breadth[T comparable] struct {
	seen  map[T]struct{}
	steps []step[T]
	limit int  // most nodes in steps; 0 means no limit
	cut   bool // add dropped a node at the limit
}

// step is a node, and `steps[via]` is the step from which the search came.
type step[T comparable] struct {
	node T
	via  int
}

func newBreadth[T comparable](from T) *breadth[T] {
	return &breadth[T]{seen: map[T]struct{}{from: {}}, steps: []step[T]{{node: from, via: -1}}}
}

// run follows next() until `stop(target)` is true for an edge, and returns the path to the
// source of that edge, or nil. run tests edges instead of nodes, so that CycleThrough
// finds a cycle back to the first node.
func (s *breadth[T]) run(next func(T) []T, stop func(target T) bool) []T {
	for at := 0; ; at++ {
		if at == len(s.steps) { // add appends to steps in this loop.
			return nil
		}
		for _, target := range next(s.steps[at].node) {
			if stop(target) {
				return s.pathTo(at)
			}
			s.add(target, at)
		}
	}
}

// add appends a node to `s.steps`, unless the node is in `s.seen` or the limit is reached.
func (s *breadth[T]) add(node T, via int) bool {
	if _, known := s.seen[node]; known {
		return false
	}
	if s.limit > 0 && len(s.steps) == s.limit {
		s.cut = true
		return false
	}
	s.seen[node] = struct{}{}
	s.steps = append(s.steps, step[T]{node: node, via: via})
	return true
}

func (s *breadth[T]) pathTo(at int) []T {
	var path []T
	for ; at >= 0; at = s.steps[at].via {
		path = append(path, s.steps[at].node)
	}
	slices.Reverse(path)
	return path
}
