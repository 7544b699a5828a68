package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// strippingConfig returns a rest.Config that acts as options.stripAs, a user who may remove
// lockLabel.
func (r *rig) strippingConfig(config *rest.Config) *rest.Config {
	stripping := rest.CopyConfig(config)
	stripping.Impersonate = rest.ImpersonationConfig{UserName: r.o.stripAs}
	return stripping
}

// stripped removes lockLabel from used objects, and measures the time until the operator has
// restored lockLabel.
func (r *rig) stripped(ctx context.Context, others int) error {
	r.log("%s, %d other Usages ...", stripScenario, others)
	pairs := r.newPairs(stripScenario, r.o.latencySamples)
	for _, p := range pairs {
		if err := r.createObjects(ctx, p); err != nil {
			return err
		}
		if err := r.createReady(ctx, p, manner{}); err != nil {
			return err
		}
	}
	var labelled []float64
	err := r.metered(ctx, stripScenario, others, func(ctx context.Context) (int, error) {
		for _, p := range pairs {
			if err := pause(ctx, quietTime); err != nil {
				return 0, err
			}
			took, err := r.stripOne(ctx, p)
			if err != nil {
				return 0, err
			}
			labelled = append(labelled, milliseconds(took))
		}
		return len(pairs), nil
	})
	if err != nil {
		return err
	}
	r.report.add(stripScenario, "label taken away -> label seen again", others, unitMS, labelled)
	return r.release(ctx, pairs)
}

func (r *rig) stripOne(ctx context.Context, p pair) (time.Duration, error) {
	bare := r.seenObjects.expect(p.of(), "unlabelled", isUnlabelled)
	again := r.seenObjects.expect(p.of(), "labelled", isLabelled)
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, lockLabel)
	start := time.Now()
	if _, err := r.stripping.Patch(ctx, p.of(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return 0, fmt.Errorf("take the label from %s as %q (--strip-as): %w", p.of(), r.o.stripAs, err)
	}
	if _, err := bare.wait(ctx, r.o.timeout); err != nil {
		return 0, err
	}
	at, err := again.wait(ctx, r.o.timeout)
	return at.Sub(start), err
}
