package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
)

// committed returns the kinds of api/azure: the kinds of four providers, such as Microsoft.Network, in
// the versions of the packages in api/azure.
func committed() (kinds []*catalogue.Kind, err error) {
	all, err := catalogue.Embedded()
	if err != nil {
		return nil, err
	}
	for _, pattern := range []string{
		"Microsoft.Resources/*@2018-05-01", "Microsoft.Network/*@2020-03-01", "Microsoft.Compute/*@2019-07-01",
		"Microsoft.Batch/*@2017-09-01",
	} {
		found, err := all.Match(pattern)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, found...)
	}
	return kinds, nil
}

func measureMemory(ctx context.Context, o flags) (err error) {
	kinds, err := committed()
	if err != nil {
		return err
	}
	r, err := start(ctx, o, emulator.Options{RetryAfter: -1, BuildTime: -1}, kinds...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	empty := r.usage().operator
	if _, err := r.build(ctx, elementsOf("tree", o.objects, o.routes)); err != nil {
		return err
	}
	if err := pause(ctx, o.settle); err != nil {
		return err
	}
	r.cloud.ResetCalls()
	requests, err := r.requestsDuring(ctx, o.idle)
	if err != nil {
		return err
	}
	full, calls := r.usage().operator, 0
	for _, n := range r.cloud.Calls() {
		calls += n
	}
	what := fmt.Sprintf("memory of the operator with %d kinds", len(kinds))
	report(what+", at most", "%d MB (%d MB)", empty.RSS/1e6, empty.Peak/1e6)
	report(fmt.Sprintf("%s and %d objects, at most", what, o.objects), "%d MB (%d MB)", full.RSS/1e6, full.Peak/1e6)
	report(fmt.Sprintf("idle for %s: requests about the kinds; calls of the cloud", o.idle), "%d; %d", requests, calls)
	return limit(what, float64(full.RSS)/1e6, o.maxMemory)
}

// requestsDuring pauses for d, and returns the number of requests about the kinds of rig.all that
// the API server has answered meanwhile.
func (r *rig) requestsDuring(ctx context.Context, d time.Duration) (int, error) {
	before, err := r.requests(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, d); err != nil {
		return 0, err
	}
	after, err := r.requests(ctx)
	return after.Minus(before).Total(), err
}

// requests returns the requests about the kinds of rig.all and about CustomResourceDefinitions that
// the API server has answered so far.
func (r *rig) requests(ctx context.Context) (gauge.Counts, error) {
	clients, err := kubernetes.NewForConfig(r.cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	counts, err := gauge.ReadCounts(ctx, clients.Discovery().RESTClient())
	groups := map[string]bool{"apiextensions.k8s.io": true}
	for _, k := range r.all.Kinds() {
		groups[k.Group] = true
	}
	maps.DeleteFunc(counts, func(request gauge.Request, _ int) bool { return !groups[request.Group] })
	return counts, err
}

// byVerb returns counts as text, summed by verb and subresource: "GET 12, PATCH/status 4".
func byVerb(counts gauge.Counts) string {
	sums := map[string]int{}
	for request, n := range counts {
		verb := request.Verb
		if request.Subresource != "" {
			verb += "/" + request.Subresource
		}
		sums[verb] += n
	}
	text := make([]string, 0, len(sums))
	for _, verb := range slices.Sorted(maps.Keys(sums)) {
		text = append(text, fmt.Sprintf("%s %d", verb, sums[verb]))
	}
	return strings.Join(text, ", ")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
