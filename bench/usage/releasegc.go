package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// held is a used object that the garbage collector tries to delete.
type held struct {
	pair
	gone *expectation
}

// releaseGC measures the time from the release until the garbage collector has deleted an object.
// The garbage collector was refused earlier, and therefore repeats its DELETE with growing pauses.
// holdFromGC prepares all objects at the same time; a goroutine releases each.
func (r *rig) releaseGC(ctx context.Context, others int) error {
	collected := make([]float64, r.o.gcSamples)
	err := r.metered(ctx, releaseGC, others, func(ctx context.Context) (int, error) {
		objects, err := r.holdFromGC(ctx)
		if err != nil {
			return 0, err
		}
		group, ctx := errgroup.WithContext(ctx)
		for i, h := range objects {
			group.Go(func() error {
				start := time.Now()
				if err := r.deleteObject(ctx, h.by()); err != nil {
					return err
				}
				at, err := h.gone.wait(ctx, r.o.timeout)
				collected[i] = milliseconds(at.Sub(start))
				return err
			})
		}
		return len(objects), group.Wait()
	})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("refused to the garbage collector for %s: using deleted -> used gone", r.o.hold)
	r.report.add(releaseGC, name, others, unitMS, collected)
	return nil
}

// holdFromGC creates used objects, deletes their owners, and waits for options.hold, while the API
// server refuses the garbage collector.
func (r *rig) holdFromGC(ctx context.Context) ([]held, error) {
	objects := make([]held, 0, r.o.gcSamples)
	owners := make([]string, 0, r.o.gcSamples)
	for range r.o.gcSamples {
		h := held{pair: r.newPair("gc")}
		owner, err := r.createOwner(ctx, h.pair)
		if err != nil {
			return nil, err
		}
		if err := r.createObject(ctx, h.of(), owner); err != nil {
			return nil, err
		}
		if err := r.createObject(ctx, h.by()); err != nil {
			return nil, err
		}
		if err := r.createReady(ctx, h.pair, manner{}); err != nil {
			return nil, err
		}
		h.gone = r.seenObjects.expect(h.of(), "gone", isGone)
		objects, owners = append(objects, h), append(owners, owner.Name)
	}
	for _, owner := range owners {
		if err := r.deleteObject(ctx, owner); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, r.o.hold); err != nil {
		return nil, err
	}
	for _, h := range objects {
		if len(h.gone.seen) > 0 {
			return nil, fmt.Errorf("%s, by the garbage collector: %w", h.of(), errDeleted)
		}
	}
	return objects, nil
}

func (r *rig) createOwner(ctx context.Context, p pair) (metav1.OwnerReference, error) {
	owner, err := r.objects.Create(ctx, r.kind.object(r.run, string(p)+"-owner"), metav1.CreateOptions{})
	if err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("create owner: %w", err)
	}
	return metav1.OwnerReference{
		APIVersion: r.kind.apiVersion(), Kind: r.kind.kind, Name: owner.GetName(), UID: owner.GetUID(),
	}, nil
}
