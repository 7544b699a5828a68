// Package graph orders nodes that wait for one another, and searches along edges.
//
// A [Graph] holds comparable values and edges. An edge leads from a dependent to
// the dependency that the dependent waits for. Package graph knows nothing of
// Kubernetes and imports the standard library only.
//
//	g := graph.New(strings.Compare)
//	g.AddEdge("subnet", "network") // the subnet waits for the network
//	g.AddEdge("port", "subnet")
//
// A [Graph] answers three questions:
//
//   - In which order? [Graph.Order] puts every dependency before its dependents.
//   - What at the same time? [Graph.Layers] groups the nodes for creation: a layer
//     starts once the layer before is ready. [Graph.Waves] groups the nodes for
//     deletion: a wave starts once the wave before is deleted.
//   - Why is there no order? [Graph.Cycles], [Graph.CycleThrough] and [CycleError]
//     show cycles, printed as "a -> b -> a".
//
// Other functions need no [Graph]: a function next yields the neighbours of a node.
//
//   - [Path], [Find] and [Reachable] search breadth first. An admission check calls
//     [Path] to decide whether a new edge closes a cycle.
//   - [Levels] searches breadth first and hands over one level at a time, so that
//     a caller reads the neighbours of a whole level in one batch.
//   - [Unfold] turns a graph into a [Tree] for people: each node is expanded once.
//   - [Walk] is a depth-first walk whose caller takes the steps, for callers that
//     write an explanation on the way.
//
// # Deterministic
//
// Every answer of a [Graph] is a function of the set of nodes and edges. The order
// of AddEdge calls and the order of Go maps never show. The compare function given
// to [New] decides between nodes that could come in any order. The compare function
// MUST return 0 for equal values only. The functions that take next keep the order
// in which next() returns neighbours.
//
// # Bounded
//
// No function recurses, so depth costs heap and no stack: a chain of 100,000 nodes
// is ordinary input. Every operation is linear in nodes and edges, apart from the
// sorting. [CycleError] leaves out the middle of a cycle with more than 64 members.
//
// # Deletion of a cycle
//
// The creation of a cycle never ends, so [Graph.Order] and [Graph.Layers] return a
// [CycleError]. The deletion of a cycle does end: when all members are deleted, no
// member needs another. So [Graph.Waves] puts the members of a cycle into one wave.
//
// Many goroutines may read a [Graph] while no goroutine calls AddNode or AddEdge.
package graph
