package external

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Resource is a resource outside, by the kind of objects that stand for such.
type Resource struct {
	Kind schema.GroupKind
	ID   string

	// cloud is the one in which the id is unique. Ids of different clouds are unrelated: a tenant
	// may run a cloud that answers with the ids of another cloud.
	cloud string
}

// everywhere returns the resources that may be the same. A status that another operator of the
// same API wrote records no cloud until the object had a pass.
func (r Resource) everywhere() [2]Resource { return [2]Resource{r, {r.Kind, r.ID, ""}} }

// claimed is a resource, and the realm in which its id is unique. Claims say which object has
// which resource. Each status makes a claim, and an object claims a resource before its status
// says so. Objects that share a resource claim it in a realm each: these are the users of the
// resource.
type claimed struct {
	Resource

	realm string
}

// claim reports whether a resource is the object's from now on.
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

// cloudOf returns the cloud that the status of an object records.
func (r *reconciler[K, R]) cloudOf(obj K) string {
	if r.kind.Cloud == nil {
		return ""
	}
	return r.kind.Cloud(obj.GetExternalStatus().Place)
}

// resourceOf returns the resource of an id in a cloud.
func (r *reconciler[K, R]) resourceOf(cloud, id string) Resource {
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
	return claimed{r.resourceOf(cloud, id), realm}
}

// claim reports whether a resource is the object's from now on.
func (s *records) claim(r *record, what claimed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grant(r, what)
}

// claimOrWait is claim; an object that gets no claim is requeued when the resource may be free.
func (s *records) claimOrWait(r *record, what claimed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := s.grant(r, what)
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
	s.wishes.remove(r.wish, r)
	if r.wish = what; !r.gone {
		s.wishes.add(what, r)
	}
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
	s.wishes.remove(r.wish, r)
	r.wish = Resource{}
	if r.claim == what || r.gone {
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
	return r.claim.ID
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
	s.wishes.remove(r.wish, r)
	r.wish, r.left = Resource{}, false
	s.release(r)
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

// completedBy returns the uid of the other object that has yet to correct a resource, or "". The
// object that asks is requeued when the resource is complete.
func (s *records) completedBy(r *record, what Resource) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.claims[what] {
		if other != r && other.incomplete {
			s.waitFor(r, what)
			return other.uid
		}
	}
	return ""
}

func (s *records) release(r *record) {
	if r.claim == (claimed{}) {
		return
	}
	what := r.claim.Resource
	s.claims.remove(what, r)
	r.claim, r.lastUser, r.incomplete = claimed{}, false, false
	s.wakeWaiting(what)
}

// wakeWaiting requeues the objects that wait for a resource.
func (s *records) wakeWaiting(what Resource) {
	for _, r := range s.wishes.of(what) {
		r.wish = Resource{}
		s.wake(r.id)
	}
	delete(s.wishes, what)
}
