package external

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LookNow is the annotation by which a user requests an immediate comparison of a resource with its spec.
// Every new value counts. LookNow decides nothing else: the operator does the same as after
// spec.resyncPeriod or [Options.Resync].
const LookNow = "kinship.dev/look-now"

// lookPause is the shortest time between two comparisons by [LookNow] of a resource.
const lookPause = 5 * time.Second

// lookWanted requeues an object with a new value of [LookNow]. A value that a user writes while the
// operator is down has no effect.
func (e *Engine) lookWanted(one *record, old, now client.Object) {
	value := now.GetAnnotations()[LookNow]
	if old != nil && value != "" && value != old.GetAnnotations()[LookNow] {
		one.lookWanted.Store(true)
		e.core.Requeue(one.id)
	}
}

// popLook reports whether the user's request for a comparison is served now. Within lookPause of the last
// comparison, popLook returns the later time.
func (r *record) popLook(now time.Time) (look bool, later time.Time) {
	if !r.lookWanted.Load() {
		return false, time.Time{}
	}
	if next := r.looked.Add(lookPause); now.Before(next) {
		return false, next
	}
	r.lookWanted.Store(false)
	r.looked = now
	return true, time.Time{}
}
