package admission

import (
	"sync"
	"time"
)

// After a doubt about the path, the next doubt counts after a pause: leastDoubt at first, twice as long each time, and
// mostDoubt at most. After calm without a doubt, the pause is leastDoubt again.
const (
	leastDoubt = 10 * time.Second
	mostDoubt  = 10 * time.Minute
	calm       = 30 * time.Minute
)

// doubts limit how often a client that knows nothing, and only opens and breaks off connections, has the path replaced.
// Each replacement writes a Secret and the webhook configurations. No doubt is lost: a doubt in a pause counts at the
// end of the pause. The zero value is ready.
type doubts struct {
	mu    sync.Mutex
	last  time.Time
	pause time.Duration
	due   bool
}

// raise calls call, now or at the end of the pause.
func (d *doubts) raise(call func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.pause - time.Since(d.last)
	if d.last.IsZero() {
		wait = 0
	}
	switch {
	case d.due:
	case wait > 0:
		d.due = true
		time.AfterFunc(wait, func() { d.count(call) })
	default:
		d.grow()
		go call()
	}
}

func (d *doubts) count(call func()) {
	d.mu.Lock()
	d.due = false
	d.grow()
	d.mu.Unlock()
	call()
}

// grow begins a pause. The caller holds d.mu.
func (d *doubts) grow() {
	if d.last.IsZero() || time.Since(d.last) > calm {
		d.pause = 0
	}
	d.last, d.pause = time.Now(), min(max(2*d.pause, leastDoubt), mostDoubt)
}
