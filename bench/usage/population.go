package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// population is a number of Usages that are Ready. For the first `attempted` pairs, tryDelete of
// the used object was already refused.
type population struct {
	pairs     []pair
	attempted int
}

// fresh returns at most n pairs without an earlier attempt; fewer if population.pairs has fewer
// left.
func (p *population) fresh(n int) []pair {
	taken := p.pairs[p.attempted:min(p.attempted+n, len(p.pairs))]
	p.attempted += len(taken)
	return taken
}

// creators is the number of goroutines of rig.each.
const creators = 8

// afterglow is how long requests after readiness, such as those for Events, count as part of
// rig.onboard.
const afterglow = 5 * time.Second

// onboard creates a population and reports the time until all Usages are Ready. onboard creates the
// objects earlier, so the time is for the Usages only.
func (r *rig) onboard(ctx context.Context, n int) (*population, error) {
	r.log("%s, creating %d pairs of objects ...", onboardingScenario, n)
	p := &population{pairs: r.newPairs("p", n)}
	start := time.Now()
	if err := r.each(ctx, p.pairs, r.createObjects); err != nil {
		return nil, err
	}
	objectTime := time.Since(start)

	r.log("%s, creating %d Usages ...", onboardingScenario, n)
	ready := make([]*expectation, 0, n)
	for _, pair := range p.pairs {
		ready = append(ready, r.seenUsages.expect(string(pair), "Ready", isReady))
	}
	before, err := r.meter.read(ctx)
	if err != nil {
		return nil, err
	}
	start = time.Now()
	err = r.each(ctx, p.pairs, func(ctx context.Context, p pair) error { return r.createUsage(ctx, p, manner{}) })
	if err != nil {
		return nil, err
	}
	created := time.Now()
	last, err := waitAll(ctx, ready, r.o.patience(n))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", onboardingScenario, err)
	}
	atReady, err := r.meter.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, afterglow); err != nil {
		return nil, err
	}
	later, err := r.meter.read(ctx)
	if err != nil {
		return nil, err
	}
	add := func(name string, d time.Duration) {
		r.report.add(onboardingScenario, name, n, unitS, []float64{max(0, d).Seconds()})
	}
	add("creation of the 2N objects, 8 clients", objectTime)
	add("creation of the N Usages, 8 clients", created.Sub(start))
	add("last create -> all Ready", last.Sub(created))
	add("first create -> all Ready", last.Sub(start))
	if err := r.charge(onboardingScenario+", until Ready", n, n, before, atReady); err != nil {
		return nil, err
	}
	return p, r.charge(onboardingScenario+", and 5 s later", n, n, before, later)
}

// dissolve deletes all using objects and waits until all Usages are released.
func (r *rig) dissolve(ctx context.Context, p *population) error {
	r.log("releasing %d Usages ...", len(p.pairs))
	return r.metered(ctx, "release of all at once", len(p.pairs), func(ctx context.Context) (int, error) {
		start := time.Now()
		deleted, free, gone, err := r.releaseAll(ctx, p.pairs)
		if err != nil {
			return 0, err
		}
		n := len(p.pairs)
		r.report.add("release-all", "deletion of the N using objects, 8 clients", n, unitS,
			[]float64{deleted.Sub(start).Seconds()})
		r.report.add("release-all", "last deletion -> no label left on a used object", n, unitS,
			[]float64{max(0, free.Sub(deleted)).Seconds()})
		r.report.add("release-all", "last deletion -> all Usages gone", n, unitS,
			[]float64{max(0, gone.Sub(deleted)).Seconds()})
		return n, r.each(ctx, p.pairs, func(ctx context.Context, p pair) error { return r.deleteObject(ctx, p.of()) })
	})
}

// release releases pairs without a measurement.
func (r *rig) release(ctx context.Context, pairs []pair) error {
	if _, _, _, err := r.releaseAll(ctx, pairs); err != nil {
		return err
	}
	return r.each(ctx, pairs, func(ctx context.Context, p pair) error { return r.deleteObject(ctx, p.of()) })
}

// releaseAll deletes the using objects. releaseAll returns the times when the last using object was
// deleted, when the last used object lost lockLabel, and when the last Usage was deleted.
func (r *rig) releaseAll(ctx context.Context, pairs []pair) (deleted, free, gone time.Time, err error) {
	labels, usages := make([]*expectation, 0, len(pairs)), make([]*expectation, 0, len(pairs))
	for _, p := range pairs {
		labels = append(labels, r.seenObjects.expect(p.of(), "unlabelled", isUnlabelled))
		usages = append(usages, r.seenUsages.expect(string(p), "gone", isGone))
	}
	err = r.each(ctx, pairs, func(ctx context.Context, p pair) error { return r.deleteObject(ctx, p.by()) })
	if err != nil {
		return deleted, free, gone, err
	}
	deleted = time.Now()
	if free, err = waitAll(ctx, labels, r.o.patience(len(pairs))); err != nil {
		return deleted, free, gone, err
	}
	gone, err = waitAll(ctx, usages, r.o.patience(len(pairs)))
	return deleted, free, gone, err
}

func (r *rig) newPairs(prefix string, n int) []pair {
	pairs := make([]pair, n)
	for i := range pairs {
		pairs[i] = r.newPair(prefix)
	}
	return pairs
}

// each calls do for every pair, in `creators` goroutines.
func (r *rig) each(ctx context.Context, pairs []pair, do func(context.Context, pair) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range creators {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(pairs); i = int(next.Add(1)) - 1 {
				if err := do(ctx, pairs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
