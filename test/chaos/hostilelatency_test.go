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
	quietRounds = 300
	// latencyPause is between two looks at a Usage: a latency is right to that.
	latencyPause = 5 * time.Millisecond
)

// Measured works of the honest tenant.
const (
	usageReady = "Usage created -> Ready"
	// control is work in which Kinship has no part. What slows control down is the machine, which all share.
	control = "two ConfigMaps created"
)

// latencies are the times that works of the honest tenant took, before the hostile tenant begins and beside him. A time
// during which the operator was killed or a guard was missing is left out.
type latencies struct {
	// hostile is set when the hostile tenant begins.
	hostile atomic.Bool
	// begun and ended count what disturbs measurements.
	begun, ended atomic.Int64

	mu            sync.Mutex
	quiet, beside map[string][]time.Duration // by work
}

// disturb begins a time whose latencies are left out, and returns its end.
func (l *latencies) disturb() (end func()) {
	l.begun.Add(1)
	return func() { l.ended.Add(1) }
}

// measure records how long a work took.
func (l *latencies) measure(name string, work func() error) error {
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
	if l.quiet == nil {
		l.quiet, l.beside = map[string][]time.Duration{}, map[string][]time.Duration{}
	}
	all := l.quiet
	if hostile {
		all = l.beside
	}
	all[name] = append(all[name], took)
	return nil
}

// awaitQuiet waits until quietRounds latencies are measured.
func (l *latencies) awaitQuiet(t *testing.T) {
	t.Helper()
	testenv.EventuallyWithin(t, hostilePatience, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.quiet[usageReady]); n < quietRounds {
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
	for name, quiet := range l.quiet {
		beside := l.beside[name]
		if len(beside) == 0 {
			continue
		}
		ratio := func(percent int) float64 { return float64(part(beside, percent)) / float64(part(quiet, percent)) }
		t.Logf("%s: before the hostile tenant median %v, p99 %v (n=%d)",
			name, part(quiet, 50), part(quiet, 99), len(quiet))
		t.Logf("%s: beside the hostile tenant median %v, p99 %v (n=%d), %.1f and %.1f times as long",
			name, part(beside, 50), part(beside, 99), len(beside), ratio(50), ratio(99))
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
