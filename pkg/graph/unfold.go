package graph

import "slices"

// Tree is a node and the trees of its neighbours, as [Unfold] returns it.
type Tree[T comparable] struct {
	Node T
	// Repeated is true if another branch of [Unfold] expands Node.
	Repeated bool
	// Hidden counts the neighbours of Node below the depth limit of [Unfold].
	Hidden int
	Below  []*Tree[T]
}

// Unfold returns the tree of all nodes that root leads to along next(). Each node is
// expanded once, where a depth-first walk meets the node first; all other branches
// with that node are Repeated. With depth > 0, nodes at that depth are not expanded
// and count their neighbours as Hidden. For the edges `a -> b`, `a -> c` and `b -> c`:
//
//	a
//	├─ b
//	│  └─ c
//	└─ c (Repeated)
func Unfold[T comparable](root T, depth int, next func(T) []T) *Tree[T] {
	tree := &Tree[T]{Node: root}
	expanded := map[T]struct{}{}
	stack := []unfolding[T]{{tree: tree}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, known := expanded[at.tree.Node]; known {
			at.tree.Repeated = true
			continue
		}
		expanded[at.tree.Node] = struct{}{}
		neighbours := next(at.tree.Node)
		if depth > 0 && at.depth >= depth {
			at.tree.Hidden = len(neighbours)
			continue
		}
		for _, node := range neighbours {
			at.tree.Below = append(at.tree.Below, &Tree[T]{Node: node})
		}
		for _, below := range slices.Backward(at.tree.Below) { // The first neighbour ends on top of the stack.
			stack = append(stack, unfolding[T]{tree: below, depth: at.depth + 1})
		}
	}
	return tree
}

// unfolding is a branch that [Unfold] has not expanded yet.
type unfolding[T comparable] struct {
	tree  *Tree[T]
	depth int
}
