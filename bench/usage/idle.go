package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// idle pauses for options.idle, and reports the requests of other clients during the pause.
func (r *rig) idle(ctx context.Context, n int) error {
	r.log("%s, %d Usages, %s ...", idleScenario, n, r.o.idle)
	versions, err := r.versions(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, afterglow); err != nil { // After this program's own lists.
		return err
	}
	before, err := r.meter.read(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, r.o.idle); err != nil {
		return err
	}
	after, err := r.meter.read(ctx)
	if err != nil {
		return err
	}
	later, err := r.versions(ctx)
	if err != nil {
		return err
	}
	if changed := versions.changed(later); changed > 0 {
		r.problem("%s: %d objects were written while nothing happened", idleScenario, changed)
	}
	c, err := r.meter.since(before, after)
	if err != nil {
		return err
	}
	rate := func(n int) []float64 { return []float64{float64(n) / c.Seconds} }
	r.report.add(idleScenario, "requests of others", n, unitPerS, rate(c.Requests))
	r.report.add(idleScenario, "... to Usages and their objects", n, unitPerS, rate(r.onSubject(before, after)))
	return r.charge(idleScenario, n, 0, before, after)
}

// onSubject counts the requests of other clients about Usages and about objectKind. All other
// requests are the cluster's own: for Leases, tokens and controllers.
func (r *rig) onSubject(before, after reading) int {
	sum := 0
	for key, n := range after.server.Minus(before.server).Minus(after.own.Minus(before.own)) {
		usages, objects := r.o.usage.gvr(), r.kind.gvr
		if (key.Group == usages.Group && key.Resource == usages.Resource) ||
			(key.Group == objects.Group && key.Resource == objects.Resource) {
			sum += n
		}
	}
	return sum
}

// versions has the resourceVersion of each object of this run.
type versions map[string]string

// changed counts the objects with another resourceVersion in `later`, and the deleted objects.
func (v versions) changed(later versions) int {
	n := 0
	for name, version := range v {
		if later[name] != version {
			n++
		}
	}
	return n
}

// versions lists the objects and the Usages of this run.
func (r *rig) versions(ctx context.Context) (versions, error) {
	result := versions{}
	objects, err := r.objectData.List(ctx, r.selected(metav1.ListOptions{}))
	if err != nil {
		return nil, err
	}
	for _, item := range objects.Items {
		result["object "+item.Name] = item.ResourceVersion
	}
	usages, err := r.usageData.List(ctx, r.selected(metav1.ListOptions{}))
	if err != nil {
		return nil, err
	}
	for _, item := range usages.Items {
		result["usage "+item.Name] = item.ResourceVersion
	}
	return result, nil
}
