package image

import (
	"errors"
	"io"
	"sync"
	"time"
)

// least is the number of bytes, downloaded and uploaded together, that must move within every.
// A content occupies one of a few slots for all namespaces: a tenant whose web server or cloud
// is slow on purpose must not occupy a slot for long. Both directions count because a small
// download can decompress to a large upload.
const (
	least = 1 << 20
	every = time.Minute
)

// watchdog ends a stream that is too slow.
type watchdog struct {
	mu    sync.Mutex
	moved int
	timer *time.Timer // nil after stop
}

// watch calls slow if fewer than least bytes moved within every.
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

// add adds n moved bytes.
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

// watched counts the bytes that are read from an io.Reader.
type watched struct {
	io.Reader

	watchdog *watchdog
	upload   bool // the bytes are uploaded
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.watchdog.add(n)
	if w.upload && errors.Is(err, io.EOF) { // Glance may now take its time to store the image.
		w.watchdog.stop()
	}
	return n, err
}
