// Package throttle limits how often something is done that others ask for all the time, and loses no last request.
package throttle

import (
	"sync"
	"time"
)

// Throttle calls a function at once, and then at most once in each pause. A request that comes in a pause has the
// function called at the end of the pause. Set the fields before the first call of [Throttle.Do]. Throttle is safe for
// concurrent use.
type Throttle struct {
	// Least is the first pause. Each pause is twice as long as the pause before, and Most at most. With Most zero, all
	// pauses are Least.
	Least, Most time.Duration
	// Calm is the time without a call after which the next pause is Least again. Zero means never.
	Calm time.Duration

	mu    sync.Mutex
	last  time.Time
	pause time.Duration
	due   bool
}

// Do calls call now, or in a goroutine of its own at the end of the pause. Requests in one pause are one call: the call
// of the first request.
func (t *Throttle) Do(call func()) {
	t.mu.Lock()
	wait := t.pause - time.Since(t.last)
	switch {
	case t.due:
		t.mu.Unlock()
	case !t.last.IsZero() && wait > 0:
		t.due = true
		t.mu.Unlock()
		time.AfterFunc(wait, func() {
			t.mu.Lock()
			t.due = false
			t.begin()
			t.mu.Unlock()
			call()
		})
	default:
		t.begin()
		t.mu.Unlock()
		call()
	}
}

// begin begins a pause. The caller holds t.mu.
func (t *Throttle) begin() {
	isFirst := t.last.IsZero() || (t.Calm > 0 && time.Since(t.last) > max(t.Calm, t.pause))
	switch {
	case isFirst || t.Most == 0:
		t.pause = t.Least
	default:
		t.pause = min(2*t.pause, t.Most)
	}
	t.last = time.Now()
}
