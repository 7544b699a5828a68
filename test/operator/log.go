package operator

import (
	"bytes"
	"sync"
	"testing"
)

// shown is the number of bytes that tail.show prints of the end of the log.
const shown = 64 << 10

// tail is an io.Writer that stores a log.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns the stored log.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// show prints the end of the log if the test has failed.
func (l *tail) show(tb testing.TB) {
	tb.Helper()
	if !tb.Failed() {
		return
	}
	text := l.String()
	if len(text) > shown {
		text = "...\n" + text[len(text)-shown:]
	}
	tb.Logf("the operator's log:\n%s", text)
}
