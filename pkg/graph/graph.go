package graph

import "slices"

// Graph is a directed graph. The edge `a -> b` leads from the dependent a to the
// dependency b: a waits for b. [New] returns an empty Graph.
type Graph[T comparable] struct {
	compare func(a, b T) int
	nodes   []T
	index   map[T]int
	edges   map[edge]struct{}
	// dependencies[i] and dependents[i] are the neighbours of nodes[i], as positions in nodes.
	dependencies, dependents [][]int
}

type edge struct{ dependent, dependency int }

// New returns an empty [Graph]. The compare function decides between nodes that could
// come in any order. The compare function MUST be a total order that returns 0 for
// equal values only.
func New[T comparable](compare func(a, b T) int) *Graph[T] {
	return &Graph[T]{compare: compare, index: map[T]int{}, edges: map[edge]struct{}{}}
}

// AddNode adds a node without edges. A second AddNode of the same node does nothing.
func (g *Graph[T]) AddNode(node T) { g.position(node) }

// AddEdge records that dependent waits for dependency, and adds both as nodes. A
// second AddEdge of the same edge does nothing. AddEdge(a, a) is the shortest cycle.
func (g *Graph[T]) AddEdge(dependent, dependency T) {
	e := edge{dependent: g.position(dependent), dependency: g.position(dependency)}
	if _, known := g.edges[e]; known {
		return
	}
	g.edges[e] = struct{}{}
	g.dependencies[e.dependent] = append(g.dependencies[e.dependent], e.dependency)
	g.dependents[e.dependency] = append(g.dependents[e.dependency], e.dependent)
}

// Len returns the number of nodes.
func (g *Graph[T]) Len() int { return len(g.nodes) }

// Has reports whether AddNode or AddEdge added the node.
func (g *Graph[T]) Has(node T) bool {
	_, known := g.index[node]
	return known
}

// Nodes returns all nodes, sorted.
func (g *Graph[T]) Nodes() []T {
	return slices.SortedFunc(slices.Values(g.nodes), g.compare)
}

// Dependencies returns the nodes that the node waits for, sorted: `b` for the node a of
// `a -> b`. The result is nil for an unknown node.
func (g *Graph[T]) Dependencies(node T) []T { return g.neighbours(node, g.dependencies) }

// Dependents returns the nodes that wait for the node, sorted: `a` for the node b of
// `a -> b`. The result is nil for an unknown node.
func (g *Graph[T]) Dependents(node T) []T { return g.neighbours(node, g.dependents) }

func (g *Graph[T]) neighbours(node T, adjacent [][]int) []T {
	at, known := g.index[node]
	if !known {
		return nil
	}
	values := make([]T, len(adjacent[at]))
	for i, neighbour := range adjacent[at] {
		values[i] = g.nodes[neighbour]
	}
	slices.SortFunc(values, g.compare)
	return values
}

func (g *Graph[T]) position(node T) int {
	if at, known := g.index[node]; known {
		return at
	}
	at := len(g.nodes)
	g.index[node] = at
	g.nodes = append(g.nodes, node)
	g.dependencies = append(g.dependencies, nil)
	g.dependents = append(g.dependents, nil)
	return at
}
