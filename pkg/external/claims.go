package external

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource outside of Kubernetes: an ID, with the GroupKind of the objects that stand for
// such resources.
type Resource struct {
	Kind schema.GroupKind
	ID   string

	// cloud is the [Access.Cloud] in which ID is unique. Equal ids of two clouds are unrelated: a tenant may
	// run a cloud that returns the ids of another cloud.
	cloud string
}

// everywhere returns r, and r without Resource.cloud: a claim on either excludes a claim on the other. A
// status that another operator of the same API wrote records no cloud until the first pass over the
// object.
func (r Resource) everywhere() []Resource { return []Resource{r, {r.Kind, r.ID, ""}} }

// claimed is a resource, and the realm in which its id is unique ([Kind.Realm]). Claims say which object
// has which resource. Each status.id makes a claim (records.learnClaim), and a pass claims a resource
// before the status is written (records.claim). Objects that share a resource ([Kind.Shared]) use their
// own uid as realm: each such claim marks a user of the resource.
type claimed struct {
	Resource

	realm string
	// text is the id in the spelling of the object. Resource.ID is [Kind.Key] of the id.
	text string
}

// claim claims a resource for the object, and returns false if another object has the resource. Late
// events of the watch do not remove the claim (record.passed).
func (r *reconciler[K, R]) claim(p *pass[K, R], id string) bool {
	return r.engine.records.claim(p.record, r.claimed(p.cloud, p.Object, id), false)
}

// claimOrWait is like reconciler.claim; a refused object is requeued when records.release frees the
// resource.
func (r *reconciler[K, R]) claimOrWait(p *pass[K, R], id string) bool {
	return r.engine.records.claim(p.record, r.claimed(p.cloud, p.Object, id), true)
}

// recordedPlace returns the text for status.place: pass.place, or pass.cloud for a kind without places. A
// restarted operator needs the cloud.
func (p *pass[K, R]) recordedPlace() string { return cmp.Or(p.place, p.cloud) }

// resourceOf returns the [Resource] of an id in a cloud.
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

// claim claims a resource for a pass over the object of r (record.passed). If the object waits, records.release
// requeues a refused object.
func (s *records) claim(r *record, what claimed, waits bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := s.grant(r, what)
	if granted {
		r.passed = true
		s.endAttempt(r)
	} else if waits {
		s.waitFor(r, what.Resource)
	}
	return granted
}

// learnClaim claims the resource of a status.id. If a pass made the present claim (record.passed),
// learnClaim does nothing, because the event may be older than the claim.
func (s *records) learnClaim(r *record, what claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.passed {
		s.grant(r, what)
	}
}

// isUsedElse reports whether another object has claimed a resource. If not, the object waits in
// records.wishes and is requeued by the next claim on the resource.
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
	if r.gone.Load() {
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
	if r.gone.Load() || r.claim.Resource == what.Resource && r.claim.realm == what.realm {
		r.claim = what
		return true
	}
	s.release(r) // A late event may have claimed the resource that the object had before.
	r.claim = what
	s.claims.add(what.Resource, r)
	s.wakeWaiting(what.Resource)
	return true
}

// isFree reports whether no other object has claimed a resource, in any realm: two realms may be two names
// of the same namespace of ids.
func (s *records) isFree(r *record, what Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.usedByOther(r, what)
}

func (s *records) usedByOther(r *record, what Resource) bool {
	return slices.ContainsFunc(what.everywhere(), func(one Resource) bool { return s.claims.hasOther(one, r) })
}

// claimedID returns the id of the resource that an object has claimed (claimed.text).
func (s *records) claimedID(r *record) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.claim.text
}

// leave ends the claim of a deleted object on a shared resource and returns true, if the resource has
// other users. Otherwise leave sets record.lastUser and returns false: the object then deletes the
// resource, and records.grant refuses new users.
func (s *records) leave(r *record, what claimed) (left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usedByOther(r, what.Resource) {
		s.release(r)
		r.left = true
		return true
	}
	r.left = false
	r.lastUser = s.grant(r, what) || r.lastUser
	return false
}

// allowUse undoes record.lastUser after records.leave, if the resource could not be deleted: other objects
// may join the resource again.
func (s *records) allowUse(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lastUser {
		r.lastUser = false
		s.wakeWaiting(r.claim.Resource)
	}
}

// drop ends an object's claim, wish and attempt.
func (s *records) drop(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.left = false
	s.letGo(r)
}

// dropLearnt is like records.drop, but keeps record.left. dropLearnt is for a deleted object without the
// operator's finalizer, such as a Network with onDelete detach that waits for a foreign finalizer. The
// watch may report an older version with the finalizer afterwards: because of record.left the object does
// not become a user of a shared resource again.
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

// wakeWaiting requeues the objects that wait for a resource (record.wish).
func (s *records) wakeWaiting(what Resource) {
	for _, r := range s.wishes.of(what) {
		s.endWait(r)
		s.wake(r.id)
	}
}
