package listen_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinship-dev/kinship/internal/listen"
)

// pipe is a listener with one connection.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	if c, isOpen := <-p; isOpen {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClients: a client that does not end its header within 5 seconds, or its body within 10, is not served any
// longer.
func TestSlowClients(t *testing.T) {
	for name, c := range map[string]struct {
		sends  string
		within time.Duration
	}{
		"header": {"POST / HTTP/1.1\r\nHost: a\r\n", 5 * time.Second},
		"body":   {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf", 10 * time.Second},
		"idle":   {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				p := make(pipe, 1)
				p <- there
				server := listen.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					_, _ = fmt.Fprint(w, err)
				}))
				go func() { _ = server.Serve(p) }()
				start := time.Now()
				if _, err := io.WriteString(here, c.sends); err != nil {
					t.Fatal(err)
				}
				_, err := io.Copy(io.Discard, bufio.NewReader(here))
				if took := time.Since(start); err != nil || took < c.within || took > c.within+time.Second {
					t.Errorf("the connection ended after %v, want %v, error %v", took, c.within, err)
				}
				close(p)
				_ = server.Close()
			})
		})
	}
}
