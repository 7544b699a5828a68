package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
)

var treeKinds = []string{"rg", "vnet", "subnet", "table", "route", "nic"}

// subnets and interfaces are the numbers of Subnets and NetworkInterfaces of each VirtualNetwork in
// a tree.
const (
	subnets    = 4
	interfaces = 5
)

// elementsOf returns a tree of `resources` elements: a ResourceGroup; in the group VirtualNetworks,
// RouteTables and NetworkInterfaces; in a VirtualNetwork Subnets, each with a reference to a
// RouteTable; in a RouteTable Routes. Each NetworkInterface has a reference to a Subnet.
func elementsOf(name string, resources, routes int) []element {
	all := []element{group(name)}
	for i := 0; len(all) < resources; i++ {
		all = append(all, networkOf(name, i, routes)...)
	}
	return all[:resources]
}

// networkOf returns the VirtualNetwork number i of a tree, with its RouteTable, Subnets,
// NetworkInterfaces and Routes.
func networkOf(tree string, i, routes int) []element {
	vnet, routing := fmt.Sprintf("%s-net-%d", tree, i), fmt.Sprintf("%s-table-%d", tree, i)
	all := make([]element, 0, 2+subnets+interfaces+routes)
	all = append(all, table(routing, tree), element{
		kind: "vnet", name: vnet, owner: tree, spec: map[string]any{
			"location":     "westeurope",
			"addressSpace": map[string]any{"addressPrefixes": []any{fmt.Sprintf("10.%d.0.0/16", i)}},
		},
	})
	for j := range subnets {
		all = append(all, element{
			kind: "subnet", name: fmt.Sprintf("%s-%d", vnet, j), owner: vnet,
			spec: map[string]any{"addressPrefix": fmt.Sprintf("10.%d.%d.0/24", i, j), "routeTable": to(routing)},
		})
	}
	for j := range interfaces {
		all = append(all, element{
			kind: "nic", name: fmt.Sprintf("%s-nic-%d-%d", tree, i, j), owner: tree, spec: map[string]any{
				"location": "westeurope", "ipConfigurations": []any{map[string]any{
					"name": "first", "subnet": to(fmt.Sprintf("%s-%d", vnet, j%subnets)),
				}},
			},
		})
	}
	for j := range routes {
		all = append(all, element{
			kind: "route", name: fmt.Sprintf("%s-%d", routing, j), owner: routing,
			spec: map[string]any{"addressPrefix": fmt.Sprintf("10.%d.%d.0/24", 100+j, i), "nextHopType": "VnetLocal"},
		})
	}
	return all
}

// chains is the number of chains that measureTree builds, each alone.
const chains = 3

func measureTree(ctx context.Context, o flags) (err error) {
	kinds, err := kindsOf(treeKinds...)
	if err != nil {
		return err
	}
	cloud := emulator.Options{Latency: o.latency}
	if o.eager {
		cloud.RetryAfter = -1
	}
	r, err := start(ctx, o, cloud, kinds...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	var alone []time.Duration
	for i := range chains {
		// Group, table, network, its subnets, of which Azure creates one after another, and an interface in each.
		chain := elementsOf(fmt.Sprintf("chain-%d", i), 3+2*subnets, 0)
		took, err := r.build(ctx, chain)
		if err != nil {
			return err
		}
		alone = append(alone, took)
	}
	slices.Sort(alone)
	path := alone[len(alone)/2]
	r.cloud.ResetCalls()
	all := elementsOf("tree", o.resources, o.routes)
	used := r.usage()
	before, err := r.requests(ctx)
	if err != nil {
		return err
	}
	took, err := r.build(ctx, all)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d resources in a tree of depth 4, calls of %s", len(all), o.latency)
	report(what+": critical path", "%.1f s", path.Seconds())
	report(what+": makespan", "%.1f s, %.2f times the path", took.Seconds(), took.Seconds()/path.Seconds())
	calls := float64(r.cloud.CallCount("")) / float64(len(all))
	report("calls per resource besides polls", "%.2f", calls)
	report("refused calls", "%d %v", len(r.cloud.Refusals()), r.cloud.Refused())
	after, err := r.requests(ctx)
	if err != nil {
		return err
	}
	report("requests to the API server with those of the program", "%s", byVerb(after.Minus(before)))
	report("processor time of the operator, of the API server", "%s", r.usage().since(used))
	for _, call := range slices.SortedFunc(maps.Keys(r.cloud.Calls()), compareCalls) {
		report("  "+call.String(), "%d", r.cloud.Calls()[call])
	}
	var failed []error
	if o.maxCalls >= 0 {
		failed = append(failed, limit("refused calls", float64(len(r.cloud.Refusals())), 0))
	}
	return errors.Join(append(failed,
		limit("makespan / critical path", took.Seconds()/path.Seconds(), o.maxMakespan),
		limit("calls per resource", calls, o.maxCalls))...)
}

func compareCalls(a, b emulator.Call) int {
	return slices.Compare([]string{a.String()}, []string{b.String()})
}

// build creates elements, dependents first, and returns the time until all elements are Ready.
func (r *rig) build(ctx context.Context, elements []element) (time.Duration, error) {
	seen := r.track(ctx, treeKinds...)
	defer seen.stop()
	elements = slices.Clone(elements)
	slices.Reverse(elements)
	begin := time.Now()
	if err := r.create(ctx, elements...); err != nil {
		return 0, err
	}
	last, err := seen.ready(ctx, elements...)
	return last.Sub(begin), err
}
