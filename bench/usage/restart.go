package main

import (
	"context"
	"fmt"
)

// restarted restarts the implementation, creates a Usage as soon as possible, and reports the time
// from the start of the process until the Usage is Ready.
func (r *rig) restarted(ctx context.Context, n int) error {
	r.log("%s, %d Usages ...", restartScenario, n)
	p := r.newPair("again")
	if err := r.createObjects(ctx, p); err != nil {
		return err
	}
	start, pid, err := r.restart(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", restartScenario, err)
	}
	r.meter.pids[operatorProcess] = pid
	ready := r.seenUsages.expect(string(p), "Ready", isReady)
	err = retry(ctx, r.o.patience(n), func(ctx context.Context) error { return r.createUsage(ctx, p, manner{}) })
	if err != nil {
		return fmt.Errorf("%s: %w", restartScenario, err)
	}
	at, err := ready.wait(ctx, r.o.patience(n))
	if err != nil {
		return fmt.Errorf("%s: %w", restartScenario, err)
	}
	r.report.add(restartScenario, "process started -> a new Usage Ready", n, unitS, []float64{at.Sub(start).Seconds()})
	if err := pause(ctx, afterglow); err != nil {
		return err
	}
	// gauge.Process has values since the start of the process.
	after, err := r.meter.read(ctx)
	if err != nil {
		return err
	}
	used := after.processes[operatorProcess]
	r.report.add(restartScenario, "CPU time of the operator until then", n, unitS, []float64{used.CPU.Seconds()})
	r.report.add(restartScenario, "memory of the operator, peak", n, unitMB, []float64{float64(used.Peak) / megabyte})
	return r.release(ctx, []pair{p})
}

// crowd creates options.others objects without a Usage.
func (r *rig) crowd(ctx context.Context) error {
	if r.o.others == 0 {
		return nil
	}
	r.log("Creating %d other objects ...", r.o.others)
	return r.each(ctx, r.newPairs("other", r.o.others), func(ctx context.Context, p pair) error {
		return r.createObject(ctx, string(p))
	})
}
