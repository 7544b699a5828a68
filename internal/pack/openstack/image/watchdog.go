package image

import (
	"errors"
	"io"
	"sync"
	"time"
)

// least is how many bytes have to come and go, counted both times, within each time of
// every. A content keeps one of a few places that all share: who lets the bytes trickle,
// here or in a cloud of his own, must not have it for long. Both count because little
// that is downloaded can be much that is uploaded.
const (
	least = 1 << 20
	every = time.Minute
)

// watchdog ends what is too slow.
type watchdog struct {
	mu    sync.Mutex
	moved int
	timer *time.Timer // nil once it is stopped
}

// watch calls slow once less than least moved within every.
func watch(slow func()) *watchdog {
	w := &watchdog{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(every, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.timer == nil:
		case w.moved < least:
			slow()
		default:
			w.moved = 0
			w.timer.Reset(every)
		}
	})
	return w
}

// add says that some bytes came or went.
func (w *watchdog) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved += n
}

// stop ends the watch.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// watched tells a watchdog what is read.
type watched struct {
	io.Reader

	watchdog *watchdog
	upload   bool // what is read is uploaded
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.watchdog.add(n)
	if w.upload && errors.Is(err, io.EOF) { // What follows is the time that Glance takes to store it.
		w.watchdog.stop()
	}
	return n, err
}
