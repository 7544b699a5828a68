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
	// gcPercent trades CPU time, of which an idle operator needs none, for memory,
	// which it needs all the time.
	gcPercent = 25

	// quietFor is how long little may be allocated until the work is taken to be
	// done, quietBytes how little.
	quietFor   = 5 * time.Second
	quietBytes = 1 << 20
	// worthwhile is how much work is worth a collection.
	worthwhile = 8 << 20
)

// limitMemory has the collector work the harder the nearer the process comes to the memory
// that its container may have, instead of letting the kernel end it: 90 % are the limit,
// unless GOMEMLIMIT says another.
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

// giveBack returns to the machine, after each burst of work, the memory that only
// the burst needed. The runtime by itself keeps it for minutes.
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

// allocatedBytes returns how much was allocated since the process began.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
