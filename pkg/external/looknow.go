package external

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LookNow is the annotation by which a user has the operator compare a resource with its spec at once.
// Any new value counts. The annotation decides nothing: the operator does what it would do after the
// resync period.
const LookNow = "kinship.dev/look-now"

// lookPause is the time between two looks at one resource that users ask for.
const lookPause = 5 * time.Second

// lookWanted requeues an object with a new value of [LookNow]. A value that was written while no operator
// ran is not noticed.
func (e *Engine) lookWanted(one *record, old, now client.Object) {
	value := now.GetAnnotations()[LookNow]
	if old == nil || value == "" || value == old.GetAnnotations()[LookNow] {
		return
	}
	e.records.wantLook(one)
	e.core.Requeue(one.id)
}

func (s *records) wantLook(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.looks.wanted = true
}

// looks are the looks at a resource that users ask for.
type looks struct {
	wanted bool
	last   time.Time
}

// popLook reports whether a user asks for a look that may be now. If it is too early, popLook returns
// when it may be.
func (s *records) popLook(r *record, now time.Time) (look bool, later time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.looks.wanted {
		return false, time.Time{}
	}
	if next := r.looks.last.Add(lookPause); now.Before(next) {
		return false, next
	}
	r.looks = looks{last: now}
	return true, time.Time{}
}
