package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// measure runs the chosen scenarios: first without a population, then with 1,000 Usages, then with
// options.n Usages.
func (r *rig) measure(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.cleanUp(context.WithoutCancel(ctx))) }()
	r.log("Waiting for the first Usage to be Ready ...")
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	if err := r.crowd(ctx); err != nil {
		return err
	}
	if err := r.measureQuiet(ctx); err != nil {
		return err
	}
	if !r.o.wants(append(releases,
		onboardingScenario, blockedScenario, idleScenario, admissionScenario, stripScenario, restartScenario)...) {
		return nil
	}
	for _, n := range steps(r.o.n) {
		if err := r.measureAt(ctx, n, n == r.o.n); err != nil {
			return fmt.Errorf("with %d usages: %w", n, err)
		}
	}
	return nil
}

func (r *rig) measureQuiet(ctx context.Context) error {
	if r.o.wants(latencyScenario) {
		if err := r.latency(ctx); err != nil {
			return err
		}
	}
	if err := r.releases(ctx, 0); err != nil {
		return err
	}
	if r.o.wants(blockedScenario) {
		if err := r.blockedOne(ctx); err != nil {
			return err
		}
	}
	if r.o.wants(neighbourScenario) {
		return r.beside(ctx)
	}
	return nil
}

// measureAt creates a population of n Usages with onboard, measures, and releases the Usages with
// dissolve.
func (r *rig) measureAt(ctx context.Context, n int, isLast bool) error {
	p, err := r.onboard(ctx, n)
	if err != nil {
		return err
	}
	if isLast && r.o.wants(idleScenario) {
		if err := r.idle(ctx, n); err != nil {
			return err
		}
	}
	if r.o.wants(blockedScenario) {
		if err := r.blocked(ctx, p); err != nil {
			return err
		}
	}
	if isLast {
		if err := r.measureLast(ctx, p); err != nil {
			return err
		}
	}
	return r.dissolve(ctx, p)
}

// measureLast runs the scenarios that need only the largest population.
func (r *rig) measureLast(ctx context.Context, p *population) error {
	n := len(p.pairs)
	if r.o.wants(admissionScenario) {
		if err := r.admission(ctx, p); err != nil {
			return err
		}
	}
	if r.o.wants(stripScenario) {
		if err := r.stripped(ctx, n); err != nil {
			return err
		}
	}
	if err := r.releases(ctx, n); err != nil {
		return err
	}
	if r.o.wants(restartScenario) && r.restart != nil {
		return r.restarted(ctx, n)
	}
	return nil
}

// releases runs the release scenarios beside a number of other Usages. releaseGC does not depend on
// the number and takes long, so releases runs releaseGC once, with others = 0.
func (r *rig) releases(ctx context.Context, others int) error {
	for _, s := range []struct {
		name string
		run  func(context.Context, int) error
	}{
		{releasePlain, r.releasePlain},
		{releaseComposed, r.releaseComposed},
		{releaseReplay, r.releaseReplay},
		{releaseGC, r.releaseGC},
	} {
		if !r.o.wants(s.name) || (s.name == releaseGC && others > 0) {
			continue
		}
		r.log("%s, %d other Usages ...", s.name, others)
		if err := s.run(ctx, others); err != nil {
			return err
		}
	}
	return nil
}

// warmUp checks that the implementation works, and makes the implementation load all data of a
// first use.
func (r *rig) warmUp(ctx context.Context) error {
	p := r.newPair("warm")
	if err := r.createObjects(ctx, p); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	ready := r.seenUsages.expect(string(p), "Ready", isReady)
	err := retry(ctx, r.o.timeout, func(ctx context.Context) error { return r.createUsage(ctx, p, manner{}) })
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if _, err := ready.wait(ctx, r.o.timeout); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if _, err := r.tryDelete(ctx, p.of()); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	unlabelled := r.seenObjects.expect(p.of(), "unlabelled", isUnlabelled)
	if err := r.deleteObject(ctx, p.by()); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if _, err := unlabelled.wait(ctx, r.o.timeout); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return r.deleteObject(ctx, p.of())
}

// cleanUpTime bounds rig.cleanUp.
const cleanUpTime = 5 * time.Minute

// cleanUp deletes the remaining objects of this run, even after a failure: the Usages first,
// because a Usage protects its object.
func (r *rig) cleanUp(ctx context.Context) error {
	if r.o.local {
		return nil // The whole control plane is deleted.
	}
	r.log("Cleaning up ...")
	all := r.selected(metav1.ListOptions{})
	// The API server ends a DeleteCollection after 1 minute, so retry repeats the request.
	err := retry(ctx, cleanUpTime, func(ctx context.Context) error {
		return r.usages.DeleteCollection(ctx, metav1.DeleteOptions{}, all)
	})
	if err != nil {
		return fmt.Errorf("clean up usages: %w", err)
	}
	err = retry(ctx, cleanUpTime, func(ctx context.Context) error {
		return r.objects.DeleteCollection(ctx, metav1.DeleteOptions{}, all)
	})
	if err != nil {
		return fmt.Errorf("clean up objects: %w", err)
	}
	if r.kind.gvr != configMaps.gvr {
		return nil
	}
	if err := r.clients.CoreV1().Namespaces().Delete(ctx, r.run, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("clean up namespace: %w", err)
	}
	return nil
}
