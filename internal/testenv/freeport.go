package testenv

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/freeport"
)

// FreePort returns a port of 127.0.0.1 without a listener.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freeport.Find("127.0.0.1")
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return port
}
