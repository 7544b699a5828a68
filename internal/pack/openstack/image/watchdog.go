package image

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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
	ctx, stop := context.WithCancel(context.Background())
	w := &watchdog{stop: stop}
	go func() {
		_ = wait.PollUntilContextCancel(ctx, every, false, func(context.Context) (bool, error) {
			if w.moved.Swap(0) >= least {
				return false, nil
			}
			slow()
			return true, nil
		}) // The error says that the watch was ended.
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
