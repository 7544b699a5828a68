// Package graph orders things that wait for one another.
//
// A [Graph] holds comparable values and edges from a dependent to the
// dependency it waits for. It knows nothing of Kubernetes and imports the
// standard library only.
//
//	g := graph.New(strings.Compare)
//	g.AddEdge("subnet", "network") // the subnet waits for the network
//	g.AddEdge("port", "subnet")
//
// Four questions can be asked:
//
//   - In which order? [Graph.Order] puts every dependency before its dependents.
//   - What at the same time? [Graph.Layers] groups for creation: a layer may
//     start once the layer before it is ready. [Graph.Waves] groups for
//     deletion: a wave may go once the wave before it is gone.
//   - Why can it not be ordered? [Graph.Cycles] and [CycleError] show concrete
//     cycles, printed as "a -> b -> a".
//   - What leads from here to there? [Path] and [Reachable] search without a
//     graph, along a function that yields neighbours; an admission check uses
//     them to see whether a new edge would close a cycle.
//
// # Deterministic
//
// Every answer is a function of the set of nodes and edges. The order in which
// they were added, and the order of Go maps, never shows. Among nodes that could
// come in any order, the compare function given to [New] decides. It MUST return
// 0 for equal values only.
//
// # Bounded
//
// Nothing recurses, so depth costs heap, not stack: a chain of 100,000 nodes is
// an ordinary input. Every operation is linear in nodes and edges, apart from
// the sorting. Error texts leave out the middle of very long cycles.
//
// # Cycles do not stop deletion
//
// Creation of a cycle can never finish, so Order and Layers refuse it. Deletion
// of a cycle can: when all its members are to go, none needs the other any more.
// So Waves puts the members of a cycle in one wave and never fails.
//
// A Graph may be read from many goroutines at once while nobody adds to it.
package graph
