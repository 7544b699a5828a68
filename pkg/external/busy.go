package external

import (
	"cmp"
	"errors"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The cloud refuses the deletion of a resource that is Busy. Mostly the users of the resource
// are being deleted too, and a repetition succeeds a moment later. The deletion is repeated
// at once when the last object that used the resource is gone (occupancy.go). A user without
// an object, such as a port that Neutron made for itself, has the deletion repeated every
// busyPause for busyPeriod, and then with the back-off of other failures.
const (
	busyPause  = 2 * time.Second
	busyPeriod = time.Minute
)

// refusal is the error of a refused deletion, the time of the first refusal, and the time of the
// next attempt.
type refusal struct {
	since, next time.Time
	err         error
}

// untilFree returns how long the next attempt to delete a busy resource is put off. It is zero if the
// last user of the resource has ended since.
func (r *reconciler[K, R]) untilFree(p *pass[K, R]) time.Duration {
	if r.engine.records.isDeletionFree(p.record) {
		return 0
	}
	return max(0, p.record.busy.next.Sub(r.engine.Clock.Now()))
}

// awaitFree waits for the next attempt to delete a busy resource.
func (r *reconciler[K, R]) awaitFree(p *pass[K, R]) reconcile.Outcome {
	return reconcile.Retry(r.untilFree(p), condition.ReasonTransientError, p.record.busy.err)
}

// wasBusy plans the next attempt to delete a resource that was busy.
func (r *reconciler[K, R]) wasBusy(p *pass[K, R], err error) reconcile.Outcome {
	r.engine.records.refuseDeletion(p.record)
	busy, now := &p.record.busy, r.engine.Clock.Now()
	if busy.since.IsZero() {
		busy.since = now
	}
	busy.next, busy.err = time.Time{}, err
	if r.engine.records.isDeletionFree(p.record) { // The last user ended after the refusal.
		return reconcile.Retry(0, condition.ReasonTransientError, err)
	}
	if now.Sub(busy.since) >= busyPeriod {
		return r.failed(p, err)
	}
	var after time.Duration
	if known, ok := errors.AsType[*Error](err); ok {
		after = known.After
	}
	busy.next = now.Add(cmp.Or(after, busyPause))
	return r.awaitFree(p)
}
