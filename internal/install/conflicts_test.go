package install

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

// TestMayLive judges answers of an address. If this process can't reach the address, the Lease decides.
func TestMayLive(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want bool
	}{
		"it answers":       {nil, true},
		"nothing listens":  {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false},
		"no route":         {fmt.Errorf("call: %w", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}), true},
		"a stopped one":    {context.DeadlineExceeded, true},
		"another program":  {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		"a foreign answer": {errors.New("the server does not know its path (404 Not Found)"), false},
	} {
		if got := mayLive(row.err); got != row.want {
			t.Errorf("%s (%v): may live: %t, want %t", name, row.err, got, row.want)
		}
	}
}
