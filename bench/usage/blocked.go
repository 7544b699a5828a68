package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errDeleted says that protection failed: the API server deleted an object in use.
var errDeleted = errors.New("deleted although it is in use")

// tryDelete sends a DELETE for an object in use. tryDelete returns an error for any answer but a
// refusal.
func (r *rig) tryDelete(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	err := r.objects.Delete(ctx, name, metav1.DeleteOptions{})
	took := time.Since(start)
	switch {
	case err == nil:
		return took, fmt.Errorf("%s: %w", name, errDeleted)
	case !isRefusal(err):
		return took, fmt.Errorf("%s: neither deleted nor refused: %w", name, err)
	default:
		return took, nil
	}
}

// blockedFigures collects the results of rig.blocked. Each element of an outer slice is a run.
type blockedFigures struct {
	first, repeated   [][]float64
	written           []float64
	rates, under      [][]float64
	freshRates, fresh [][]float64
}

func (f *blockedFigures) addTo(rep *report, usages, clients int) {
	many := fmt.Sprintf("%d clients", clients)
	rep.add(blockedScenario, "first attempt, one after the other", usages, unitMS, f.first...)
	rep.add(blockedScenario, "objects written by the first attempts of a run", usages, "", f.written)
	rep.add(blockedScenario, "repeated, one after the other", usages, unitMS, f.repeated...)
	rep.add(blockedScenario, "repeated, "+many, usages, unitPerS, f.rates...)
	rep.add(blockedScenario, "repeated, "+many+", each", usages, unitMS, f.under...)
	rep.add(blockedScenario, "first attempts, "+many, usages, unitPerS, f.freshRates...)
	rep.add(blockedScenario, "first attempts, "+many+", each", usages, unitMS, f.fresh...)
}

// blockedOne measures refusals with one Usage, a new Usage in each run.
func (r *rig) blockedOne(ctx context.Context) error {
	var f blockedFigures
	for run := range r.o.runs {
		r.log("%s, 1 Usage, run %d of %d ...", blockedScenario, run+1, r.o.runs)
		p := r.newPair(blockedScenario)
		if err := r.createObjects(ctx, p); err != nil {
			return err
		}
		if err := r.createReady(ctx, p, manner{}); err != nil {
			return err
		}
		if err := r.blockedRun(ctx, &population{pairs: []pair{p}}, &f); err != nil {
			return err
		}
		if err := r.release(ctx, []pair{p}); err != nil {
			return err
		}
	}
	f.addTo(r.report, 1, r.o.clients)
	return nil
}

// worthwhile is the least number of untried objects for a rate with many clients.
const worthwhile = 1000

// blocked measures refusals in a population: first attempts on objects without an earlier attempt,
// then repeated attempts on the same objects.
func (r *rig) blocked(ctx context.Context, p *population) error {
	var f blockedFigures
	n := len(p.pairs)
	for run := range r.o.runs {
		r.log("%s, %d Usages, run %d of %d ...", blockedScenario, n, run+1, r.o.runs)
		if err := r.blockedRun(ctx, p, &f); err != nil {
			return err
		}
	}
	for rest := len(p.pairs) - p.attempted; rest >= worthwhile && len(f.freshRates) < r.o.runs; {
		share := p.fresh(rest / r.o.runs)
		err := r.metered(ctx, "blocked, first attempts at once", n, func(ctx context.Context) (int, error) {
			rate, each, err := r.hammer(ctx, share, len(share))
			f.freshRates, f.fresh = append(f.freshRates, []float64{rate}), append(f.fresh, each)
			return len(each), err
		})
		if err != nil {
			return err
		}
	}
	f.addTo(r.report, n, r.o.clients)
	return nil
}

// blockedRun is a run of rig.blocked with objects from population.fresh.
func (r *rig) blockedRun(ctx context.Context, p *population, f *blockedFigures) error {
	n := len(p.pairs)
	pairs := p.fresh(max(1, min(r.o.blockedSamples, n/r.o.runs)))
	untouched, err := r.versions(ctx)
	if err != nil {
		return err
	}
	err = r.metered(ctx, "blocked, first attempts", n, func(ctx context.Context) (int, error) {
		each, err := r.attempt(ctx, pairs, len(pairs))
		f.first = append(f.first, each)
		return len(pairs), err
	})
	if err != nil {
		return err
	}
	attempted, err := r.versions(ctx)
	if err != nil {
		return err
	}
	f.written = append(f.written, float64(untouched.changed(attempted)))
	err = r.metered(ctx, "blocked, repeated", n, func(ctx context.Context) (int, error) {
		each, err := r.attempt(ctx, pairs, r.o.blockedSamples)
		f.repeated = append(f.repeated, each)
		return r.o.blockedSamples, err
	})
	if err != nil {
		return err
	}
	err = r.metered(ctx, "blocked, repeated at once", n, func(ctx context.Context) (int, error) {
		rate, each, err := r.hammer(ctx, p.pairs[:p.attempted], 0)
		f.rates, f.under = append(f.rates, []float64{rate}), append(f.under, each)
		return len(each), err
	})
	if err != nil {
		return err
	}
	repeated, err := r.versions(ctx)
	if err != nil {
		return err
	}
	if changed := attempted.changed(repeated); changed > 0 {
		r.problem("%s: %d objects were written by repeated attempts", blockedScenario, changed)
	}
	return nil
}

// attempt calls tryDelete one after the other, in turn for each pair.
func (r *rig) attempt(ctx context.Context, pairs []pair, times int) ([]float64, error) {
	var unexpected surprises
	each := make([]float64, 0, times)
	for i := range times {
		took, err := r.tryDelete(ctx, pairs[i%len(pairs)].of())
		if fatal := unexpected.note(err); fatal != nil {
			return nil, fatal
		}
		if err == nil {
			each = append(each, milliseconds(took))
		}
	}
	unexpected.tell(r, blockedScenario, times)
	return each, nil
}

// hammer calls tryDelete in options.clients goroutines during options.throughput, or until `limit`
// attempts if limit is not 0.
func (r *rig) hammer(ctx context.Context, pairs []pair, limit int) (rate float64, each []float64, err error) {
	var unexpected surprises
	var next atomic.Int64
	var mu sync.Mutex
	var clients sync.WaitGroup
	start := time.Now()
	deadline := start.Add(r.o.throughput)
	for range r.o.clients {
		clients.Go(func() {
			var mine []float64
			for time.Now().Before(deadline) {
				i := int(next.Add(1)) - 1
				if limit > 0 && i >= limit {
					break
				}
				took, err := r.tryDelete(ctx, pairs[i%len(pairs)].of())
				if unexpected.note(err) != nil {
					break
				}
				if err == nil {
					mine = append(mine, milliseconds(took))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			each = append(each, mine...)
		})
	}
	clients.Wait()
	elapsed := time.Since(start)
	unexpected.tell(r, blockedScenario, int(next.Load()))
	return float64(len(each)) / elapsed.Seconds(), each, unexpected.fatal
}

// surprises counts answers other than refusals.
type surprises struct {
	mu    sync.Mutex
	n     int
	first error
	fatal error
}

// note counts an answer. note returns an error if the measurement can't continue, such as
// errDeleted.
func (s *surprises) note(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.first == nil {
		s.first = err
	}
	if errors.Is(err, errDeleted) || errors.Is(err, context.Canceled) {
		s.fatal = err
	}
	return s.fatal
}

func (s *surprises) tell(r *rig, what string, of int) {
	if s.n > 0 {
		r.problem("%s: %d of %d answers were neither refusal nor success, first: %v", what, s.n, of, s.first)
	}
}
