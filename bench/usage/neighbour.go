package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// The noisy neighbour of the scenario: a tenant whose Usages select many objects, and whose objects change all the
// time.
const (
	neighbourSets    = 300  // Usages, each with a selector of all members
	neighbourMembers = 2000 // using objects
	neighbourUsed    = 7    // used objects, and using objects
	neighbourPause   = 200 * time.Millisecond
	neighbourKey     = "bench.kinship.dev/member"
)

// neighbour is a tenant in a namespace of its own.
type neighbour struct {
	*rig

	namespace string
	objects   dynamic.ResourceInterface
	usages    dynamic.ResourceInterface
}

// beside measures a quiet tenant: alone, and beside a neighbour who creates Usages with selectors, changes labels of
// used objects, and changes which objects a selector selects. Each figure is paired with the first.
func (r *rig) beside(ctx context.Context) error {
	if r.kind.gvr != configMaps.gvr {
		return nil // A neighbour needs a namespace.
	}
	if err := r.besideOne(ctx, "alone", func(context.Context) error { return nil }); err != nil {
		return err
	}
	n, err := r.newNeighbour(ctx)
	if err != nil {
		return err
	}
	for _, phase := range []struct {
		name string
		work func(context.Context) error
	}{
		{"sets created", n.createSets},
		{"labels changed", n.changeLabels},
		{"members changed", n.changeMembers},
	} {
		if err := r.besideOne(ctx, phase.name, phase.work); err != nil {
			return err
		}
	}
	return n.leave(ctx)
}

// besideOne measures Usages one at a time while work runs.
func (r *rig) besideOne(ctx context.Context, name string, work func(context.Context) error) error {
	r.log("%s, %s ...", neighbourScenario, name)
	working, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var failed error
	running.Go(func() { failed = work(working) })
	seen, err := r.besideSamples(ctx)
	stop()
	running.Wait()
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("%s, %s: %w", neighbourScenario, name, err)
	}
	r.report.add(neighbourScenario, name+": two objects created, without Kinship", 0, unitMS, seen.plain)
	r.report.add(neighbourScenario, name+": Usage created -> Ready seen", 0, unitMS, seen.ready)
	r.report.add(neighbourScenario, name+": using deleted -> label gone", 0, unitMS, seen.released)
	return nil
}

// besideTimes are the times of the samples of a quiet tenant, in milliseconds.
type besideTimes struct {
	// plain is the control: two writes to the API server in which Kinship has no part.
	plain, ready, released []float64
}

func (r *rig) besideSamples(ctx context.Context) (seen besideTimes, err error) {
	for range r.o.latencySamples {
		p := r.newPair(neighbourScenario)
		start := time.Now()
		if err := r.createObjects(ctx, p); err != nil {
			return seen, err
		}
		seen.plain = append(seen.plain, milliseconds(time.Since(start)))
		start = time.Now()
		if err := r.createReady(ctx, p, manner{}); err != nil {
			return seen, err
		}
		seen.ready = append(seen.ready, milliseconds(time.Since(start)))
		bare := r.seenObjects.expect(p.of(), "unlabelled", isUnlabelled)
		start = time.Now()
		if err := r.deleteObject(ctx, p.by()); err != nil {
			return seen, err
		}
		at, err := bare.wait(ctx, r.o.timeout)
		if err != nil {
			return seen, err
		}
		seen.released = append(seen.released, milliseconds(at.Sub(start)))
		if err := pause(ctx, quietTime); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// newNeighbour creates the namespace and the objects of a neighbour.
func (r *rig) newNeighbour(ctx context.Context) (*neighbour, error) {
	n := &neighbour{rig: r, namespace: r.run + "-" + neighbourScenario}
	n.objects = r.all.Resource(r.kind.gvr).Namespace(n.namespace)
	n.usages = r.all.Resource(r.o.usage.gvr()).Namespace(n.namespace)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.namespace}}
	if _, err := r.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	var names []pair
	for i := range neighbourMembers {
		names = append(names, pair(fmt.Sprint("member-", i)))
	}
	for i := range neighbourUsed {
		names = append(names, pair(fmt.Sprint("used-", i)), pair(fmt.Sprint("using-", i)))
	}
	return n, r.each(ctx, names, func(ctx context.Context, name pair) error {
		object := r.kind.object(n.namespace, string(name))
		if string(name)[0] == 'm' {
			object.SetLabels(map[string]string{neighbourKey: "true"})
		}
		if _, err := n.objects.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create object: %w", err)
		}
		return nil
	})
}

// createSets creates Usages by which all members use one object.
func (n *neighbour) createSets(ctx context.Context) error {
	for i := range neighbourSets {
		_, err := n.usages.Create(ctx, n.set(i), metav1.CreateOptions{})
		if err != nil {
			return n.unlessOver(ctx, "create usage", err)
		}
	}
	return nil
}

// set returns a Usage: all members use an object or, of every second Usage, an object uses all members.
func (n *neighbour) set(i int) *unstructured.Unstructured {
	side := func(field string, value any) map[string]any {
		return map[string]any{"apiVersion": n.kind.apiVersion(), "kind": n.kind.kind, field: value}
	}
	labelled := map[string]any{neighbourKey: "true"}
	members := side("resourceSelector", map[string]any{"matchLabels": labelled, "matchAll": true})
	usage := usageOf(n.o.usage, n.kind, n.namespace, pair(fmt.Sprint("set-", i)), manner{})
	if i%2 == 0 {
		usage.Object["spec"] = map[string]any{
			"of": side("resourceRef", map[string]any{"name": fmt.Sprint("used-", i%neighbourUsed)}), "by": members,
		}
	} else {
		usage.Object["spec"] = map[string]any{
			"of": members, "by": side("resourceRef", map[string]any{"name": fmt.Sprint("using-", i%neighbourUsed)}),
		}
	}
	return usage
}

// changeLabels changes a label of each used object, five times a second.
func (n *neighbour) changeLabels(ctx context.Context) error {
	return n.repeat(ctx, func(round int) error {
		for i := range neighbourUsed {
			if err := n.patchLabel(ctx, fmt.Sprint("used-", i), "bench.kinship.dev/round", fmt.Sprint(round)); err != nil {
				return err
			}
		}
		return nil
	})
}

// changeMembers takes an object out of all selectors, and puts the object back, five times a second.
func (n *neighbour) changeMembers(ctx context.Context) error {
	return n.repeat(ctx, func(round int) error {
		return n.patchLabel(ctx, "member-0", neighbourKey, []string{"false", "true"}[round%2])
	})
}

// repeat calls do every neighbourPause until ctx ends.
func (n *neighbour) repeat(ctx context.Context, do func(round int) error) error {
	for round := 0; ; round++ {
		if err := do(round); err != nil {
			return n.unlessOver(ctx, "change labels", err)
		}
		if err := pause(ctx, neighbourPause); err != nil {
			return n.unlessOver(ctx, "wait for the next change", err)
		}
	}
}

func (n *neighbour) patchLabel(ctx context.Context, name, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := n.objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// unlessOver wraps an error, or returns nil if the measurement is over.
func (n *neighbour) unlessOver(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// leave deletes everything of the neighbour.
func (n *neighbour) leave(ctx context.Context) error {
	err := n.usages.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("delete usages of the neighbour: %w", err)
	}
	err = n.clients.CoreV1().Namespaces().Delete(ctx, n.namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace of the neighbour: %w", err)
	}
	return nil
}
