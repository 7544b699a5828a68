package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/graph"
)

func Example() {
	g := graph.New(strings.Compare)
	g.AddEdge("port", "subnet") // the port waits for the subnet
	g.AddEdge("subnet", "network")
	g.AddEdge("server", "port")
	g.AddEdge("server", "image")

	layers, err := g.Layers()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, layer := range layers {
		fmt.Println("create", i, layer)
	}
	for i, wave := range g.Waves() {
		fmt.Println("delete", i, wave)
	}
	// Output:
	// create 0 [image network]
	// create 1 [subnet]
	// create 2 [port]
	// create 3 [server]
	// delete 0 [server]
	// delete 1 [image port]
	// delete 2 [subnet]
	// delete 3 [network]
}

func ExampleCycleError() {
	g := graph.New(strings.Compare)
	g.AddEdge("b", "a")
	g.AddEdge("a", "b")

	_, err := g.Order()
	if cycle, isCycle := errors.AsType[*graph.CycleError[string]](err); isCycle {
		fmt.Println(cycle)
		cycle.Format = strings.ToUpper
		fmt.Println(cycle.String())
	}
	// Output:
	// cycle: a -> b -> a
	// A -> B -> A
}

// An admission check: do the edges of the new object lead back to the new object?
func ExamplePath() {
	stored := map[string][]string{"b": {"c"}, "c": {"a"}}
	dependencies := func(node string) []string { return stored[node] }

	source, target := "a", "b" // object a is about to refer to b
	if back := graph.Path(target, source, dependencies); back != nil {
		cycle := slices.Concat([]string{source}, back[:len(back)-1])
		fmt.Println(&graph.CycleError[string]{Path: cycle})
	}
	// Output: cycle: a -> b -> c -> a
}

// What depends on the network?
func ExampleReachable() {
	g := graph.New(strings.Compare)
	g.AddEdge("port", "subnet")
	g.AddEdge("subnet", "network")
	fmt.Println(graph.Reachable("network", g.Dependents))
	// Output: [subnet port]
}
