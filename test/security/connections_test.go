package security_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestManyConnections: 300 clients that each begin a request and never end the request leave at most 64 connections
// open at the servers of probes, metrics and profiles, and the kubelet's probe is answered.
func TestManyConnections(t *testing.T) {
	const most = 64
	metrics, profiles := operator.FreeAddress(t), operator.FreeAddress(t)
	p := operator.Exec(t, "--packs", "usage", "--metrics-bind-address", metrics, "--pprof-bind-address", profiles)
	for name, address := range map[string]string{"probes": p.HealthAddress(), "metrics": metrics, "profiles": profiles} {
		t.Run(name, func(t *testing.T) {
			var clients []net.Conn
			for range 300 {
				c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				if _, err := io.WriteString(c, "GET /readyz HTTP/1.1\r\n"); err != nil {
					continue // The server has closed the connection already.
				}
				clients = append(clients, c)
			}
			testenv.Eventually(t, func() error {
				if n := countOpen(clients); n > most {
					return fmt.Errorf("%d connections are open, want at most %d", n, most)
				}
				return nil
			})
			if code, text := p.Readyz(t); code != http.StatusOK {
				t.Errorf("readyz answers %d: %s", code, text)
			}
		})
	}
}

// countOpen returns how many connections their server has not closed.
func countOpen(clients []net.Conn) int {
	open := 0
	for _, c := range clients {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) // Fails only for a closed connection.
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	return open
}
