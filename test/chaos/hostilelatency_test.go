package chaos_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/testenv"
)

const (
	// quietRounds is how many latencies are measured before the hostile tenant begins.
	quietRounds = 100
	// latencyPause is between two looks at a Usage: a latency is right to that.
	latencyPause = 5 * time.Millisecond
)

// latencies are the times that Usages of the honest tenant took from their creation until they were Ready: before the
// hostile tenant begins, and beside him. A time during which the operator was killed or a guard was missing is left
// out.
type latencies struct {
	// hostile is set when the hostile tenant begins.
	hostile atomic.Bool
	// begun and ended count what disturbs measurements.
	begun, ended atomic.Int64

	mu            sync.Mutex
	quiet, beside []time.Duration
}

// disturb begins a time whose latencies are left out, and returns its end.
func (l *latencies) disturb() (end func()) {
	l.begun.Add(1)
	return func() { l.ended.Add(1) }
}

// measure records how long work took.
func (l *latencies) measure(work func() error) error {
	hostile, ended, begun := l.hostile.Load(), l.ended.Load(), l.begun.Load()
	start := time.Now()
	if err := work(); err != nil {
		return err
	}
	took := time.Since(start)
	if begun != ended || begun != l.begun.Load() || hostile != l.hostile.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if hostile {
		l.beside = append(l.beside, took)
	} else {
		l.quiet = append(l.quiet, took)
	}
	return nil
}

// awaitQuiet waits until quietRounds latencies are measured.
func (l *latencies) awaitQuiet(t *testing.T) {
	t.Helper()
	testenv.EventuallyWithin(t, hostilePatience, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.quiet); n < quietRounds {
			return fmt.Errorf("%d latencies are measured, want %d", n, quietRounds)
		}
		return nil
	})
}

// log prints the latencies and compares them.
func (l *latencies) log(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, all := range map[string][]time.Duration{"before": l.quiet, "beside": l.beside} {
		t.Logf("Usage Ready %s the hostile tenant: n=%d, median %v, p99 %v", name, len(all), part(all, 50), part(all, 99))
	}
	if len(l.quiet) > 0 && len(l.beside) > 0 {
		ratio := func(percent int) float64 { return float64(part(l.beside, percent)) / float64(part(l.quiet, percent)) }
		t.Logf("Usage Ready takes %.1f times as long beside the hostile tenant (median), %.1f times (p99)",
			ratio(50), ratio(99))
	}
}

// part returns the duration that so many percent of all do not exceed.
func part(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)*percent/100].Round(time.Millisecond)
}
