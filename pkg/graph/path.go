package graph

import "slices"

// Path returns a shortest path from one node to another along next, both ends
// included, or nil if there is none. From a node to itself it is that node
// alone. Among several shortest paths it is the one found first in the order
// that next returns neighbours. Each node is asked for its neighbours once at
// most, so a cycle does no harm.
//
// Would a new edge from source to target close a cycle? If
// Path(target, source, dependencies) finds one, yes, and with source moved to
// the front it is the [CycleError.Path].
func Path[T comparable](from, to T, next func(T) []T) []T {
	path, _ := Find([]T{from}, 0, next, func(node T) bool { return node == to })
	return path
}

// Find returns a shortest path along next from one of several nodes to a node
// that accept takes, both ends included, or nil. It is [Path] for graphs whose
// size others decide: Find looks at no more nodes than limit, if that is not
// zero, and whole reports whether it has seen all that can be reached.
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

// Reachable returns everything that from leads to along next, nearest first and
// in the order that next returns neighbours. From itself is never part of it,
// not even on a cycle.
func Reachable[T comparable](from T, next func(T) []T) []T {
	s := newBreadth(from)
	s.run(next, func(T) bool { return false })
	reached := make([]T, 0, len(s.steps)-1)
	for _, step := range s.steps[1:] {
		reached = append(reached, step.node)
	}
	return reached
}

// breadth is a breadth-first search. Its steps are both the queue and, by via,
// the way back.
type breadth[T comparable] struct {
	seen  map[T]struct{}
	steps []step[T]
	limit int  // of nodes; zero means none
	cut   bool // there were more
}

// step is a node and the position of the step that led to it.
type step[T comparable] struct {
	node T
	via  int
}

func newBreadth[T comparable](from T) *breadth[T] {
	return &breadth[T]{seen: map[T]struct{}{from: {}}, steps: []step[T]{{node: from, via: -1}}}
}

// run follows next until stop accepts the target of an edge, and returns the
// path to that edge's source; nil if no edge is accepted. It looks at edges and
// not at nodes, so that a cycle back to the first node can be found too.
func (s *breadth[T]) run(next func(T) []T, stop func(target T) bool) []T {
	for at := 0; ; at++ {
		if at == len(s.steps) { // It grows while it is walked.
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

// add puts a node into the queue unless it has been there.
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
