package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
)

func measureGroup(ctx context.Context, o flags) (err error) {
	kinds, err := kindsOf("rg", "table")
	if err != nil {
		return err
	}
	r, err := start(ctx, o, emulator.Options{RetryAfter: -1}, kinds...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	seen := r.track(ctx, "rg", "table")
	defer seen.stop()
	all := []element{group("full")}
	for i := range o.dependents {
		all = append(all, table(fmt.Sprintf("t-%d", i), "full"))
	}
	if err := r.create(ctx, all...); err != nil {
		return err
	}
	if _, err := seen.ready(ctx, all...); err != nil {
		return err
	}
	r.cloud.SetLatency(o.latency)
	r.cloud.ResetCalls()
	used := r.usage()
	before, err := r.requests(ctx)
	if err != nil {
		return err
	}
	if err := r.client.Delete(ctx, r.object(all[0])); err != nil {
		return fmt.Errorf("delete the group: %w", err)
	}
	end, err := r.endOf(ctx, "/resourceGroups/full")
	if err != nil {
		return err
	}
	last, err := seen.gone(ctx, all...)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("group with %d dependents gone in the cloud -> ", o.dependents)
	report(what+"the group in Kubernetes", "%.2f s", seen.ended[all[0].key()].Sub(end).Seconds())
	left, err := seen.await(ctx, seen.left, all)
	if err != nil {
		return err
	}
	report(what+"all marked as deleted", "%.2f s", left.Sub(end).Seconds())
	report(what+"all in Kubernetes", "%.2f s", last.Sub(end).Seconds())
	report("DELETEs, GETs, refused calls", "%d, %d, %d", r.cloud.CallCount("DELETE"), r.cloud.CallCount("GET"),
		len(r.cloud.Refusals()))
	after, err := r.requests(ctx)
	if err != nil {
		return err
	}
	report("requests to the API server with those of the program", "%s", byVerb(after.Minus(before)))
	report("processor time of the operator, of the API server", "%s", r.usage().since(used))
	return nil
}

// endOf waits until emulator.Server.Inventory has no Item.ID with a suffix, and returns the
// time.Time.
func (r *rig) endOf(ctx context.Context, suffix string) (time.Time, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		there := false
		for _, item := range r.cloud.Inventory() {
			there = there || strings.HasSuffix(item.ID, suffix)
		}
		if !there {
			return time.Now(), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
