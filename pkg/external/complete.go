package external

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A new resource may lack fields that Actuator.Update writes, or have superfluous parts. For example,
// Neutron adds rules to a new security group, and the SecurityGroup deletes the rules by Update. No other
// object imports a resource that its creating object has yet to complete.

// longestUnfinished is the time after Identity.Created for which an unfinished resource is left to the
// object that created the resource. That object may be gone: deleted with onDelete detach, for example.
const longestUnfinished = time.Hour

// isUnfinished reports whether [Identity.Unfinished] says that another object than the object with uid is
// still completing the resource.
func isUnfinished(who Identity, uid types.UID, now time.Time) bool {
	return who.Unfinished && who.Marker != uid && !isOld(who, now)
}

func isOld(who Identity, now time.Time) bool {
	return !who.Created.IsZero() && now.Sub(who.Created) >= longestUnfinished
}

// completing returns the uid of another object that created a resource and is still completing the
// resource, or "". records.endCompletion requeues the importing object.
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

// startAttempt sets record.attempt before Actuator.Create.
func (s *records) startAttempt(r *record, what cloudKey, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setAttempt(r, what, now)
}

func (s *records) setAttempt(r *record, what cloudKey, now time.Time) {
	s.endAttempt(r)
	r.container.Store(nil) // The new resource is not the one that went.
	if !r.gone.Load() {
		r.attempt, r.attempted = what, now
		s.attempts.add(what, r)
	}
}

// reserve is like records.startAttempt, but returns false if another object has the same record.attempt.
func (s *records) reserve(r *record, what cloudKey, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.hasOther(what, r) {
		return false
	}
	s.setAttempt(r, what, now)
	return true
}

// refuseAttempt clears record.attempt after a Create that created nothing.
func (s *records) refuseAttempt(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endAttempt(r)
}

func (s *records) endAttempt(r *record) {
	s.attempts.remove(r.attempt, r)
	r.attempt = cloudKey{}
}

// startCompletion sets record.incomplete: correctResource has yet to correct the new resource.
func (s *records) startCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.incomplete = true
}

// endCompletion clears record.incomplete, and requeues the objects that import the resource.
func (s *records) endCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.incomplete {
		r.incomplete = false
		s.wakeWaiting(r.claim.Resource)
	}
}

// completedBy returns the uid of another object that has yet to correct a resource, or "". The other
// object has claimed the resource (record.incomplete), or has called Create for the name and got no answer
// (record.attempt) for at most carriedOut. If the other object has claimed the resource, endCompletion
// requeues the object of r.
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
	for other := range s.attempts[cloudKey{what.Kind, what.cloud, name}] {
		if other != r && now.Sub(other.attempted) < carriedOut {
			return other.uid
		}
	}
	return ""
}
