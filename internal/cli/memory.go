package cli

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

const (
	// gcPercent is GOGC: a low value costs CPU time during work and saves memory of an
	// idle operator.
	gcPercent = 25

	// A burst of work has ended when the process allocated less than quietBytes within
	// quietFor.
	quietFor   = 5 * time.Second
	quietBytes = 1 << 20
	// worthwhile is how many bytes a burst allocates before giveBack calls debug.FreeOSMemory().
	worthwhile = 8 << 20
)

// limitMemory sets GOMEMLIMIT to 90 % of the container's memory limit, unless the user has
// set GOMEMLIMIT. Near GOMEMLIMIT the garbage collector runs more often; without
// GOMEMLIMIT the kernel kills the process (OOMKilled).
func limitMemory(log logr.Logger, of memlimit.Provider) {
	limit, err := memlimit.Set(memlimit.WithProvider(of))
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
	case err != nil:
		log.Error(err, "The memory limit of the container is not known")
	default:
		log.V(1).Info("Memory is limited", "bytes", limit)
	}
}

// giveBack calls debug.FreeOSMemory() after each burst of work. The Go runtime would keep
// the memory of the burst for minutes.
func giveBack(ctx context.Context) {
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	var before, returned uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		allocated := allocatedBytes()
		if allocated-before < quietBytes && allocated-returned > worthwhile {
			debug.FreeOSMemory()
			returned = allocated
		}
		before = allocated
	}
}

// allocatedBytes returns the bytes that the process has allocated since the start (/gc/heap/allocs:bytes).
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
