package external

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A new resource may lack what Update writes, or have too much. For example, a new security group
// has rules of Neutron until the SecurityGroup that creates the group has deleted the rules. No
// object imports a resource that the creating object has yet to complete.

// creation is a resource that an object may have created, by the name that the resource has or, for kinds
// with [Kind.Address], by its address.
type creation struct {
	kind        schema.GroupKind
	cloud, name string
}

// longestUnfinished is how long after the creation an unfinished resource is left to the object
// that created the resource. That object may be gone: deleted with onDelete detach, for example.
const longestUnfinished = time.Hour

// isUnfinished reports whether the mark of a resource tells that another object than that of a
// uid is still completing the resource.
func isUnfinished(who Identity, uid types.UID, now time.Time) bool {
	return who.Unfinished && who.Marker != uid && !isOld(who, now)
}

func isOld(who Identity, now time.Time) bool {
	return !who.Created.IsZero() && now.Sub(who.Created) >= longestUnfinished
}

// completing returns the uid of the other object that created a resource and is still completing
// it, or "". The importing object is woken when the resource is complete.
func (r *reconciler[K, R]) completing(p *pass[K, R], who Identity) types.UID {
	uid, now := p.Object.GetUID(), r.engine.Clock.Now()
	switch {
	case isUnfinished(who, uid, now):
		return who.Marker
	case isOld(who, now):
		return ""
	default:
		name := who.Name
		if r.kind.Address != nil {
			name = r.addressKey(p, who.ID)
		}
		return r.engine.records.completedBy(p.record, r.resourceOf(p.cloud, who.ID), name, now)
	}
}

// startAttempt records that an object is about to have a resource of a name created.
func (s *records) startAttempt(r *record, what creation, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setAttempt(r, what, now)
}

func (s *records) setAttempt(r *record, what creation, now time.Time) {
	s.endAttempt(r)
	r.container = container{} // The new resource is not the one that went.
	if !r.gone {
		r.attempt, r.attempted = what, now
		s.attempts.add(what, r)
	}
}

// reserve is startAttempt, unless another object has begun an attempt for the same resource.
func (s *records) reserve(r *record, what creation, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.hasOther(what, r) {
		return false
	}
	s.setAttempt(r, what, now)
	return true
}

// refuseAttempt records that the attempt of an object has created nothing.
func (s *records) refuseAttempt(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endAttempt(r)
}

func (s *records) endAttempt(r *record) {
	s.attempts.remove(r.attempt, r)
	r.attempt = creation{}
}

// startCompletion records that an object has yet to correct the resource that it has just created.
func (s *records) startCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.incomplete = true
}

// endCompletion ends what startCompletion began, and requeues the objects that import the resource.
func (s *records) endCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.incomplete {
		r.incomplete = false
		s.wakeWaiting(r.claim.Resource)
	}
}

// completedBy returns the uid of the other object that has yet to correct a resource, or "". That
// object has the resource, or has just tried to create a resource of the name and got no answer. The
// object that asks is requeued when the resource is complete.
func (s *records) completedBy(r *record, what Resource, name string, now time.Time) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.claims[what] {
		if other != r && other.incomplete {
			s.waitFor(r, what)
			return other.uid
		}
	}
	if len(s.claims[what]) > 0 || name == "" {
		return ""
	}
	for other := range s.attempts[creation{what.Kind, what.cloud, name}] {
		if other != r && now.Sub(other.attempted) < carriedOut {
			return other.uid
		}
	}
	return ""
}
