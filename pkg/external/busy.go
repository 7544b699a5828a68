package external

import (
	"cmp"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The cloud refuses to delete a resource that is in use ([Busy]). Usually the users of the resource are
// being deleted too, and Actuator.Delete succeeds a moment later. Delete is repeated at once when the last
// object that used the resource is gone (occupancy.go). A user may have no object, such as a port that
// Neutron created for its own needs. Delete is then repeated every busyPause for busyPeriod, and after
// busyPeriod with the back-off of other failures.
const (
	busyPause  = 2 * time.Second
	busyPeriod = time.Minute
)

// refusal is the error of a refused Delete (err), the time of the first refusal (since), and the time of
// the next attempt (next).
type refusal struct {
	since, next time.Time
	err         error
}

// untilFree returns the pause before the next Actuator.Delete of a busy resource. untilFree is 0 if the
// last user of the resource has ended (records.isDeletionFree).
func (r *reconciler[K, R]) untilFree(p *pass[K, R]) time.Duration {
	if r.engine.records.isDeletionFree(p.record) {
		return 0
	}
	return max(0, p.record.busy.next.Sub(r.engine.Clock.Now()))
}

// awaitFree waits until the time refusal.next.
func (r *reconciler[K, R]) awaitFree(p *pass[K, R]) reconcile.Outcome {
	return reconcile.Retry(r.untilFree(p), condition.ReasonTransientError, p.record.busy.err)
}

// wasBusy plans the next Actuator.Delete after an error of class [Busy].
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
	busy.next = now.Add(cmp.Or(errorOf(err).After, busyPause))
	return r.awaitFree(p)
}
