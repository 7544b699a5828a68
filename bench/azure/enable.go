package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
)

// later are ARM types that measureEnable enables while the operator runs.
var later = []string{
	"Microsoft.Network/publicIPAddresses", "Microsoft.Network/natGateways", "Microsoft.Network/publicIPPrefixes",
	"Microsoft.Network/networkSecurityGroups", "Microsoft.Network/loadBalancers", "Microsoft.Compute/disks",
	"Microsoft.Batch/batchAccounts", "Microsoft.Storage/storageAccounts", "Microsoft.KeyVault/vaults",
	"Microsoft.Compute/virtualMachineScaleSets",
}

// enabling has the times of one kind that enableLater enables.
type enabling struct {
	// made is from the call of azure.Enable until the API server has the CustomResourceDefinition.
	// established is from there until the condition Established. served is from there until the
	// operator's finalizer is on an object of the kind, without the time of createLater.
	made, established, served time.Duration
}

func measureEnable(ctx context.Context, o flags) (err error) {
	kinds, err := kindsOf(treeKinds...)
	if err != nil {
		return err
	}
	r, err := start(ctx, o, emulator.Options{RetryAfter: -1}, kinds...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	var all []enabling
	for _, name := range later[:min(o.samples, len(later))] {
		one, err := r.enableLater(ctx, r.all.Default(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, one)
	}
	for _, row := range []struct {
		what string
		of   func(enabling) time.Duration
	}{
		{"kind enabled: definition and role made", func(e enabling) time.Duration { return e.made }},
		{"kind enabled: the API server establishes the definition", func(e enabling) time.Duration { return e.established }},
		{"kind enabled: established -> first reconciled", func(e enabling) time.Duration { return e.served }},
		{"kind enabled: our time", func(e enabling) time.Duration { return e.made + e.served }},
	} {
		var times []time.Duration
		for _, one := range all {
			times = append(times, row.of(one))
		}
		slices.Sort(times)
		report(row.what+fmt.Sprintf(", median / max (n=%d)", len(times)), "%d / %d ms", times[len(times)/2].Milliseconds(),
			times[len(times)-1].Milliseconds())
	}
	return nil
}

// enableLater enables a kind, calls createLater at once, and returns the times.
func (r *rig) enableLater(ctx context.Context, k *catalogue.Kind) (e enabling, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin, done := time.Now(), make(chan error, 1)
	go func() { done <- r.enable(ctx, k) }()
	made, err := r.sees(ctx, "CustomResourceDefinition", func(u *unstructured.Unstructured) bool {
		return u.GetName() == k.Plural+"."+k.Group
	})
	if err != nil {
		return e, err
	}
	established, err := r.sees(ctx, "CustomResourceDefinition", func(u *unstructured.Unstructured) bool {
		return u.GetName() == k.Plural+"."+k.Group && isTrue(u, "Established")
	})
	if err != nil {
		return e, err
	}
	created, err := r.createLater(ctx, k)
	if err != nil {
		return e, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersionKind())
	seen, err := r.seesIn(ctx, list, func(u *unstructured.Unstructured) bool { return len(conditionsOf(u)) > 0 })
	if err != nil {
		return e, err
	}
	e = enabling{made: made.Sub(begin), established: established.Sub(made), served: seen.Sub(established) - created}
	return e, <-done
}

// createLater creates an object of a kind as soon as the API server accepts the object, and returns
// the time from the call until the Create succeeds.
func (r *rig) createLater(ctx context.Context, k *catalogue.Kind) (time.Duration, error) {
	begin := time.Now()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.GroupVersionKind())
	u.SetNamespace(namespace)
	u.SetName("later")
	u.Object["spec"] = map[string]any{"location": "westeurope", "ownerRef": to("first")}
	var failed error
	err := wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			failed = r.client.Create(ctx, u)
			return failed == nil, nil
		})
	if err != nil {
		return 0, fmt.Errorf("create an object: %w", errors.Join(err, failed))
	}
	return time.Since(begin), nil
}

// sees waits until a watch shows a CustomResourceDefinition for which `is` returns true, and
// returns the time.Time.
func (r *rig) sees(ctx context.Context, kind string, is func(*unstructured.Unstructured) bool) (time.Time, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apiextensions.k8s.io/v1")
	list.SetKind(kind + "List")
	return r.seesIn(ctx, list, is)
}

// seesIn waits until a watch shows an object for which `is` returns true, and returns the
// time.Time.
func (r *rig) seesIn(
	ctx context.Context, list *unstructured.UnstructuredList, is func(*unstructured.Unstructured) bool,
) (time.Time, error) {
	w, err := r.client.Watch(ctx, list)
	if err != nil {
		return time.Time{}, fmt.Errorf("watch %s: %w", list.GetKind(), err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for %s: %w", list.GetKind(), context.Cause(ctx))
		case event, ok := <-w.ResultChan():
			if !ok || event.Type == watch.Error {
				return time.Time{}, fmt.Errorf("the watch of %s ended", list.GetKind())
			}
			if u, ok := event.Object.(*unstructured.Unstructured); ok && is(u) {
				return time.Now(), nil
			}
		}
	}
}
