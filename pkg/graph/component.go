package graph

import "slices"

// components returns the strongly connected components of the graph in which node r
// has the edges `next[r]`. A node outside every cycle is a component of its own. A
// component that leads to another comes after the other; the members of a component
// ascend. components is Tarjan's algorithm with a stack of frames instead of recursion.
func components(next [][]int) [][]int {
	s := &tarjan{
		next:    next,
		number:  make([]int, len(next)),
		low:     make([]int, len(next)),
		pending: make([]bool, len(next)),
	}
	for r := range next {
		if s.number[r] == 0 {
			s.from(r)
		}
	}
	return s.found
}

// groupOf returns, for each of n nodes, the index of its group in groups.
func groupOf(groups [][]int, n int) []int {
	result := make([]int, n)
	for i, members := range groups {
		for _, r := range members {
			result[r] = i
		}
	}
	return result
}

// tarjan is the state of a run of components().
type tarjan struct {
	next [][]int
	// number counts nodes from 1 in the order of first visit; 0 is not visited.
	number []int
	// low[r] is the least number[s] of a pending node s that r is known to reach.
	low []int
	// pending[r] is true for a node r on the stack: `number[r] > 0`, without a component so far.
	pending []bool
	stack   []int
	frames  []frame
	visited int
	found   [][]int
}

// frame replaces a recursive call of from(): a node and the index of its next edge.
type frame struct{ node, edge int }

func (s *tarjan) from(root int) {
	s.enter(root)
	for len(s.frames) > 0 {
		top := &s.frames[len(s.frames)-1]
		if top.edge == len(s.next[top.node]) {
			s.leave()
			continue
		}
		target := s.next[top.node][top.edge]
		top.edge++
		switch {
		case s.number[target] == 0:
			s.enter(target)
		case s.pending[target]:
			s.low[top.node] = min(s.low[top.node], s.number[target])
		}
	}
}

func (s *tarjan) enter(node int) {
	s.visited++
	s.number[node], s.low[node] = s.visited, s.visited
	s.pending[node] = true
	s.stack = append(s.stack, node)
	s.frames = append(s.frames, frame{node: node})
}

// leave returns from the top frame. A node with `low[node] == number[node]` reaches no
// pending node with a lower number: the component is that node and all nodes above
// that node on the stack.
func (s *tarjan) leave() {
	node := s.frames[len(s.frames)-1].node
	s.frames = s.frames[:len(s.frames)-1]
	if len(s.frames) > 0 {
		parent := s.frames[len(s.frames)-1].node
		s.low[parent] = min(s.low[parent], s.low[node])
	}
	if s.low[node] != s.number[node] {
		return
	}
	first := len(s.stack) - 1
	for s.stack[first] != node {
		first--
	}
	members := slices.Clone(s.stack[first:])
	s.stack = s.stack[:first]
	for _, r := range members {
		s.pending[r] = false
	}
	slices.Sort(members)
	s.found = append(s.found, members)
}
