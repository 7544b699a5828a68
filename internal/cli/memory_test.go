package cli

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

// TestLimitMemory: GOMEMLIMIT follows the container's limit, unless the user has set another
// limit, or the container has none.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, c := range []struct {
		reason string
		of     memlimit.Provider
		set    bool
		want   int64
	}{
		{"the container's", memlimit.Limit(1000 << 20), false, 900 << 20},
		{"somebody says another", memlimit.Limit(1000 << 20), true, 5 << 20},
		{"there is none", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, false, math.MaxInt64},
		{"nobody knows", func() (uint64, error) { return 0, errors.New("no file") }, false, 5 << 20},
	} {
		t.Run(c.reason, func(t *testing.T) {
			debug.SetMemoryLimit(5 << 20)
			defer debug.SetMemoryLimit(before)
			if c.set {
				t.Setenv("GOMEMLIMIT", "5MiB")
			}
			limitMemory(logr.Discard(), c.of)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
		})
	}
}
