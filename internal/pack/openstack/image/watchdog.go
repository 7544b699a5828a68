package image

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
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
	moved atomic.Int64
	stop  func() // ends the watch
}

// watch calls slow if fewer than least bytes moved within every.
func watch(slow func()) *watchdog {
	stopped := make(chan struct{})
	w := &watchdog{stop: sync.OnceFunc(func() { close(stopped) })}
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C:
			}
			if w.moved.Swap(0) < least {
				slow()
				return
			}
		}
	}()
	return w
}

// add adds n moved bytes.
func (w *watchdog) add(n int) { w.moved.Add(int64(n)) }

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
