package external

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource outside, by the kind of objects that stand for such.
type Resource struct {
	Kind schema.GroupKind
	ID   string

	// cloud is the one in which the id is unique. Ids of different clouds are unrelated: a tenant
	// may run a cloud that answers with the ids of another cloud.
	cloud string
}

// everywhere returns r, and r without a cloud: a claim on either excludes the other. A status that
// another operator of the same API wrote records no cloud until the object had a pass.
func (r Resource) everywhere() [2]Resource { return [2]Resource{r, {r.Kind, r.ID, ""}} }

// claimed is a resource, and the realm in which its id is unique. Claims say which object has
// which resource. Each status makes a claim, and an object claims a resource before its status
// says so. Objects that share a resource claim it in a realm each: these are the users of the
// resource.
type claimed struct {
	Resource

	realm string
	// text is the id as the object has it. Resource has the key of the id ([Kind.Key]).
	text string
}

// claim reports whether a resource is the object's from now on. No late event of the watch takes the
// claim back.
func (r *reconciler[K, R]) claim(p *pass[K, R], id string) bool {
	return r.engine.records.claim(p.record, r.claimed(p.cloud, p.Object, id))
}

// claimOrWait is claim; an object that gets no claim is requeued when the resource may be free.
func (r *reconciler[K, R]) claimOrWait(p *pass[K, R], id string) bool {
	return r.engine.records.claimOrWait(p.record, r.claimed(p.cloud, p.Object, id))
}

// recordedPlace is the place that a status records. Where a kind has no places, the cloud is
// recorded, which a restart needs to know.
func (p *pass[K, R]) recordedPlace() string { return cmp.Or(p.place, p.cloud) }

// resourceOf returns the resource of an id in a cloud.
func (r *reconciler[K, R]) resourceOf(cloud, id string) Resource {
	if r.kind.Key != nil {
		id = r.kind.Key(id)
	}
	return Resource{r.kind.GVK.GroupKind(), id, cloud}
}

func (r *reconciler[K, R]) claimed(cloud string, obj K, id string) claimed {
	var realm string
	switch {
	case r.kind.Shared != nil:
		realm = string(obj.GetUID())
	case r.kind.Realm != nil:
		realm = r.kind.Realm(obj)
	}
	return claimed{r.resourceOf(cloud, id), realm, id}
}

// claim reports whether a resource is the object's from now on.
func (s *records) claim(r *record, what claimed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grantToPass(r, what)
}

// learnClaim claims the resource that a status records. A claim of a pass stays: the event may be
// older than the claim.
func (s *records) learnClaim(r *record, what claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.passed {
		s.grant(r, what)
	}
}

// claimOrWait is claim; an object that gets no claim is requeued when the resource may be free.
func (s *records) claimOrWait(r *record, what claimed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := s.grantToPass(r, what)
	if !granted {
		s.waitFor(r, what.Resource)
	}
	return granted
}

// isUsedElse reports whether another object has a resource. If none has, the object is requeued
// when one does.
func (s *records) isUsedElse(r *record, what Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.usedByOther(r, what)
	if !used {
		s.waitFor(r, what)
	}
	return used
}

func (s *records) waitFor(r *record, what Resource) {
	s.endWait(r)
	if r.gone {
		return
	}
	r.wish = what
	for _, one := range what.everywhere() {
		s.wishes.add(one, r)
	}
}

func (s *records) endWait(r *record) {
	for _, one := range r.wish.everywhere() {
		s.wishes.remove(one, r)
	}
	r.wish = Resource{}
}

func (s *records) grantToPass(r *record, what claimed) bool {
	granted := s.grant(r, what)
	if granted {
		r.passed = true
		s.endAttempt(r)
	}
	return granted
}

func (s *records) grant(r *record, what claimed) bool {
	for _, one := range what.everywhere() {
		for other := range s.claims[one] {
			if other != r && (other.claim.realm == what.realm || (other.lastUser && one == what.Resource)) {
				return false
			}
		}
	}
	if r.left {
		return false
	}
	s.endWait(r)
	if r.gone || r.claim.Resource == what.Resource && r.claim.realm == what.realm {
		r.claim = what
		return true
	}
	s.release(r) // A late event may have claimed the resource that the object had before.
	r.claim = what
	s.claims.add(what.Resource, r)
	s.wakeWaiting(what.Resource)
	return true
}

// isFree reports whether no other object has a resource, in any realm: two realms may be the same
// one under two names.
func (s *records) isFree(r *record, what Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.usedByOther(r, what)
}

func (s *records) usedByOther(r *record, what Resource) bool {
	for _, one := range what.everywhere() {
		if s.claims.hasOther(one, r) {
			return true
		}
	}
	return false
}

// claimedID returns the id of the resource that an object has claimed.
func (s *records) claimedID(r *record) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.claim.text
}

// leave ends the claim of a deleted object on a shared resource, and returns true, if the
// resource has other users. Otherwise leave returns false: the object has the resource
// deleted, and no other object may begin to use the resource.
func (s *records) leave(r *record, what claimed) (left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usedByOther(r, what.Resource) {
		s.release(r)
		r.left = true
		return true
	}
	r.left = false
	if s.grant(r, what) {
		r.lastUser = true
	}
	return false
}

// allowUse ends what leave began, for a resource that could not be deleted: other objects
// may begin to use the resource.
func (s *records) allowUse(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lastUser {
		r.lastUser = false
		s.wakeWaiting(r.claim.Resource)
	}
}

// drop ends an object's claim, and its wait for one.
func (s *records) drop(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.left = false
	s.letGo(r)
}

// dropLearnt is drop for a deleted object without the operator's finalizer, such as one that
// detached its resource and waits for a foreign finalizer. An event from before the finalizer
// was removed may follow: the object does not become a user of a shared resource again.
func (s *records) dropLearnt(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letGo(r)
}

func (s *records) letGo(r *record) {
	s.endWait(r)
	s.endAttempt(r)
	s.release(r)
}

func (s *records) release(r *record) {
	if r.claim == (claimed{}) {
		return
	}
	what := r.claim.Resource
	s.claims.remove(what, r)
	r.claim, r.passed, r.lastUser, r.incomplete = claimed{}, false, false, false
	s.wakeWaiting(what)
}

// wakeWaiting requeues the objects that wait for a resource.
func (s *records) wakeWaiting(what Resource) {
	for _, r := range s.wishes.of(what) {
		s.endWait(r)
		s.wake(r.id)
	}
}
