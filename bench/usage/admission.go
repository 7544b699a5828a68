package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// admission compares refused deletions, for which the API server calls the implementation, with
// deletions of objects without a Usage. admissionRun alternates both, so that other load on the
// machine affects both.
func (r *rig) admission(ctx context.Context, p *population) error {
	n := len(p.pairs)
	var refused, plain [][]float64
	for run := range r.o.runs {
		r.log("%s, %d Usages, run %d of %d ...", admissionScenario, n, run+1, r.o.runs)
		spare := r.newPairs("spare", r.o.blockedSamples)
		err := r.each(ctx, spare, func(ctx context.Context, p pair) error { return r.createObject(ctx, p.of()) })
		if err != nil {
			return err
		}
		a, b, err := r.admissionRun(ctx, p.pairs, spare)
		if err != nil {
			return err
		}
		refused, plain = append(refused, a), append(plain, b)
	}
	r.report.add(admissionScenario, "deletion of what is used, refused", n, unitMS, refused...)
	r.report.add(admissionScenario, "deletion of what no Usage is about", n, unitMS, plain...)
	return nil
}

func (r *rig) admissionRun(ctx context.Context, used, spare []pair) (refused, plain []float64, err error) {
	var unexpected surprises
	for i, p := range spare {
		took, err := r.tryDelete(ctx, used[i%len(used)].of())
		if fatal := unexpected.note(err); fatal != nil {
			return nil, nil, fatal
		}
		if err == nil {
			refused = append(refused, milliseconds(took))
		}
		start := time.Now()
		if err := r.objects.Delete(ctx, p.of(), metav1.DeleteOptions{}); err != nil {
			return nil, nil, err
		}
		plain = append(plain, milliseconds(time.Since(start)))
	}
	unexpected.tell(r, admissionScenario, len(spare))
	return refused, plain, nil
}
