package usage

import (
	"context"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinship-dev/kinship/pkg/object"
)

// queue passes wake-ups on to a controller's work queue once that runs. Before,
// in a replica that does not lead, they are dropped: the controller begins with
// everything there is.
type queue struct {
	work atomic.Pointer[workqueue.TypedRateLimitingInterface[object.ID]]
}

func (q *queue) add(id object.ID) {
	if work := q.work.Load(); work != nil {
		(*work).Add(id)
	}
}

// running reports whether the controller runs.
func (q *queue) running() bool { return q.work.Load() != nil }

// start returns the source that a controller is to watch. It begins when heard
// returns true.
func (q *queue) start(
	heard func(context.Context) bool, all func() []object.ID,
) func(context.Context, workqueue.TypedRateLimitingInterface[object.ID]) error {
	return func(ctx context.Context, work workqueue.TypedRateLimitingInterface[object.ID]) error {
		if !heard(ctx) {
			return ctx.Err()
		}
		q.work.Store(&work)
		for _, id := range all() {
			work.Add(id)
		}
		return nil
	}
}
