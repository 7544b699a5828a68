package main

import (
	"context"
	"time"
)

// quietTime is the pause between two samples, so that the work for a sample does not slow down the
// next sample.
const quietTime = 50 * time.Millisecond

// latency measures one Usage at a time: from just before its Create until a watch shows lockLabel
// on the used object, and until a watch shows Ready.
func (r *rig) latency(ctx context.Context) error {
	var labelled, ready [][]float64
	for run := range r.o.runs {
		r.log("%s, run %d of %d ...", latencyScenario, run+1, r.o.runs)
		pairs := r.newPairs(latencyScenario, r.o.latencySamples)
		if err := r.each(ctx, pairs, r.createObjects); err != nil {
			return err
		}
		err := r.metered(ctx, latencyScenario, 0, func(ctx context.Context) (int, error) {
			a, b, err := r.latencyRun(ctx, pairs)
			labelled, ready = append(labelled, a), append(ready, b)
			return len(pairs), err
		})
		if err != nil {
			return err
		}
		if err := r.release(ctx, pairs); err != nil {
			return err
		}
	}
	r.report.add(latencyScenario, "Usage created -> in-use label seen", 0, unitMS, labelled...)
	r.report.add(latencyScenario, "Usage created -> Ready seen", 0, unitMS, ready...)
	return nil
}

func (r *rig) latencyRun(ctx context.Context, pairs []pair) (labelled, ready []float64, err error) {
	for _, p := range pairs {
		isLabelled := r.seenObjects.expect(p.of(), "labelled", isLabelled)
		isReady := r.seenUsages.expect(string(p), "Ready", isReady)
		start := time.Now()
		if err := r.createUsage(ctx, p, manner{}); err != nil {
			return nil, nil, err
		}
		atLabel, err := isLabelled.wait(ctx, r.o.timeout)
		if err != nil {
			return nil, nil, err
		}
		atReady, err := isReady.wait(ctx, r.o.timeout)
		if err != nil {
			return nil, nil, err
		}
		labelled = append(labelled, milliseconds(atLabel.Sub(start)))
		ready = append(ready, milliseconds(atReady.Sub(start)))
		if err := pause(ctx, quietTime); err != nil {
			return nil, nil, err
		}
	}
	return labelled, ready, nil
}
