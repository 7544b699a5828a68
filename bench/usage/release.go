package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probeInterval is the pause between two calls of rig.probe: no watch shows whether an object can be
// deleted.
const probeInterval = 3 * time.Millisecond

// maxPhase is the longest time from the deletion of a composed Usage to the deletion of its using
// object. The time is random: a fixed time could always meet a periodic task of the implementation
// at the same point.
const maxPhase = 2 * time.Second

// releasePlain measures the release by the deletion of the using object.
func (r *rig) releasePlain(ctx context.Context, others int) error {
	return r.releaseTwofold(ctx, releasePlain, others, manner{}, func(context.Context, pair) error { return nil })
}

// releaseComposed measures the release of a Usage that was deleted before, as part of a
// composition: with composedLabel, the Usage waits for its using object.
func (r *rig) releaseComposed(ctx context.Context, others int) error {
	return r.releaseTwofold(ctx, releaseComposed, others, manner{composed: true}, func(ctx context.Context, p pair) error {
		if err := r.usages.Delete(ctx, string(p), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete usage: %w", err)
		}
		if err := pause(ctx, rand.N(maxPhase)); err != nil {
			return err
		}
		_, err := r.tryDelete(ctx, p.of())
		return err
	})
}

// releaseTwofold measures when the used object can be deleted, and when the used object loses
// lockLabel. releaseTwofold calls prepare when the Usage is Ready.
func (r *rig) releaseTwofold(
	ctx context.Context, scenario string, others int, m manner, prepare func(context.Context, pair) error,
) error {
	var deletable, unlabelled []float64
	err := r.metered(ctx, scenario, others, func(ctx context.Context) (int, error) {
		for range r.o.releaseSamples {
			p := r.newPair(scenario)
			if err := r.createObjects(ctx, p); err != nil {
				return 0, err
			}
			if err := r.createReady(ctx, p, m); err != nil {
				return 0, err
			}
			if err := prepare(ctx, p); err != nil {
				return 0, err
			}
			a, b, err := r.releaseOne(ctx, p)
			if err != nil {
				return 0, err
			}
			deletable, unlabelled = append(deletable, milliseconds(a)), append(unlabelled, milliseconds(b))
		}
		return r.o.releaseSamples, nil
	})
	if err != nil {
		return err
	}
	r.report.add(scenario, "using deleted -> used deletable", others, unitMS, deletable)
	r.report.add(scenario, "using deleted -> label gone", others, unitMS, unlabelled)
	return nil
}

// releaseOne deletes a using object, and returns the times until the used object can be deleted,
// and until the used object loses lockLabel. Both times start before the DELETE.
func (r *rig) releaseOne(ctx context.Context, p pair) (deletable, unlabelled time.Duration, err error) {
	if err := r.probe(ctx, p.of()); !isRefusal(err) {
		return 0, 0, fmt.Errorf("%s should be refused before its release: %w", p.of(), orDeleted(err))
	}
	label := r.seenObjects.expect(p.of(), "unlabelled", isUnlabelled)
	gone := r.seenUsages.expect(string(p), "gone", isGone)
	start := time.Now()
	if err := r.deleteObject(ctx, p.by()); err != nil {
		return 0, 0, err
	}
	free, err := r.untilDeletable(ctx, p.of())
	if err != nil {
		return 0, 0, err
	}
	bare, err := label.wait(ctx, r.o.timeout)
	if err != nil {
		return 0, 0, err
	}
	if _, err := gone.wait(ctx, r.o.timeout); err != nil {
		return 0, 0, err
	}
	return free.Sub(start), bare.Sub(start), r.deleteObject(ctx, p.of())
}

func orDeleted(err error) error {
	if err == nil {
		return errDeleted
	}
	return err
}

// probe tries by metav1.DryRunAll whether an object can be deleted.
func (r *rig) probe(ctx context.Context, name string) error {
	return r.objects.Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

func (r *rig) untilDeletable(ctx context.Context, name string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.timeout)
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	var unexpected surprises
	for probes := 1; ; probes++ {
		err := r.probe(ctx, name)
		at := time.Now()
		if err == nil {
			unexpected.tell(r, "probe of "+name, probes)
			return at, nil
		}
		if !isRefusal(err) && unexpected.note(err) != nil {
			return time.Time{}, fmt.Errorf("probe %s: %w", name, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s is still refused: %w, last: %w", name, ctx.Err(), err)
		}
	}
}

// releaseReplay measures the time from the release until a refused deletion has been replayed.
func (r *rig) releaseReplay(ctx context.Context, others int) error {
	var replayed []float64
	err := r.metered(ctx, releaseReplay, others, func(ctx context.Context) (int, error) {
		for range r.o.releaseSamples {
			took, err := r.replayOne(ctx)
			if err != nil {
				return 0, err
			}
			replayed = append(replayed, milliseconds(took))
		}
		return r.o.releaseSamples, nil
	})
	if err != nil {
		return err
	}
	r.report.add(releaseReplay, "using deleted -> used gone", others, unitMS, replayed)
	return nil
}

func (r *rig) replayOne(ctx context.Context) (time.Duration, error) {
	p := r.newPair("replay")
	if err := r.createObjects(ctx, p); err != nil {
		return 0, err
	}
	if err := r.createReady(ctx, p, manner{replay: true}); err != nil {
		return 0, err
	}
	if _, err := r.tryDelete(ctx, p.of()); err != nil {
		return 0, err
	}
	if err := pause(ctx, quietTime); err != nil {
		return 0, err
	}
	gone := r.seenObjects.expect(p.of(), "gone", isGone)
	start := time.Now()
	if err := r.deleteObject(ctx, p.by()); err != nil {
		return 0, err
	}
	at, err := gone.wait(ctx, r.o.timeout)
	return at.Sub(start), err
}
