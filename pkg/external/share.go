package external

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Several objects of a kind with [Kind.Shared] may share one resource, such as the connection
// of a router with a subnet. The status of an object has the id of the resource before the
// object counts as a user (claims.go). The resource is deleted with its last user. An object
// only joins a resource that another object had created or was told to adopt, so that no
// resource of a person is deleted.

// sharing records which objects share a resource, by the key of [Kind.Shared], and lets one
// object at a time create the resource. Otherwise the cloud would refuse the second creation,
// and the second object could not tell the resource from one that a person has just created.
type sharing struct {
	mu   sync.Mutex
	all  map[string]map[types.UID]*sharer
	keys map[types.UID]string
	// creators are the objects that may create the resource now, by key. waiting are the
	// objects that are woken when the creator's pass ends.
	creators map[string]types.UID
	waiting  map[string][]object.ID
	wake     func(object.ID)
}

// sharer is an object that shares a resource.
type sharer struct {
	id object.ID
	// unanswered says that the object may have had the resource created and got no answer.
	unanswered bool
}

// record records what an object shares, and returns the other objects that share it.
func (s *sharing) record(key string, id object.ID, uid types.UID) (others map[types.UID]object.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(key, id, uid)
	others = map[types.UID]object.ID{}
	for other, one := range s.all[key] {
		if other != uid {
			others[other] = one.id
		}
	}
	return others
}

func (s *sharing) add(key string, id object.ID, uid types.UID) {
	if before, ok := s.keys[uid]; ok && before != key {
		s.remove(uid)
	}
	if s.keys == nil {
		s.keys, s.all = map[types.UID]string{}, map[string]map[types.UID]*sharer{}
		s.creators, s.waiting = map[string]types.UID{}, map[string][]object.ID{}
	}
	if s.all[key] == nil {
		s.all[key] = map[types.UID]*sharer{}
	}
	if s.all[key][uid] == nil {
		s.keys[uid], s.all[key][uid] = key, &sharer{id: id}
	}
}

// beginCreation reports whether an object may create the resource now, and how many others
// share it. An object that may not is woken when it may.
func (s *sharing) beginCreation(key string, id object.ID, uid types.UID) (others int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(key, id, uid)
	if creator, busy := s.creators[key]; busy && creator != uid {
		if !slices.Contains(s.waiting[key], id) {
			s.waiting[key] = append(s.waiting[key], id)
		}
		return 0, false
	}
	s.creators[key] = uid
	return len(s.all[key]) - 1, true
}

// endCreation lets others create the resource, and says whether the object may have created
// it.
func (s *sharing) endCreation(key string, uid types.UID, unanswered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[key][uid]; one != nil {
		one.unanswered = unanswered
	}
	woken := s.waiting[key]
	delete(s.creators, key)
	delete(s.waiting, key)
	for _, id := range woken {
		s.wake(id)
	}
}

// isUnanswered reports whether another object may have had the resource created and got no
// answer.
func (s *sharing) isUnanswered(key string, but types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, one := range s.all[key] {
		if uid != but && one.unanswered {
			return true
		}
	}
	return false
}

// drop forgets an object.
func (s *sharing) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(uid)
}

func (s *sharing) remove(uid types.UID) {
	key, ok := s.keys[uid]
	if !ok {
		return
	}
	delete(s.keys, uid)
	delete(s.all[key], uid)
	if len(s.all[key]) == 0 {
		delete(s.all, key)
	}
}

// shareKey returns the key of the object's resource, which is unique among all clouds. It is
// the same for all credentials of one cloud.
func (r *reconciler[K, R]) shareKey(p *pass[K, R]) string {
	return p.cloud + "\n" + r.kind.Shared(p.Input)
}

// recordUse has the object count as a user of the resource that it has. It waits where the
// last user has the resource deleted.
func (r *reconciler[K, R]) recordUse(p *pass[K, R], id string) reconcile.Outcome {
	if r.kind.Shared == nil || !p.managed() {
		return reconcile.Outcome{}
	}
	r.sharing.record(r.shareKey(p), p.id, p.Object.GetUID())
	if !r.claims.ask(r.claimed(p.cloud, p.Object, id), p.Object.GetUID(), p.id) {
		return r.awaitEnd(id)
	}
	return reconcile.Outcome{}
}

// awaitEnd waits for the end of a resource whose last user is being deleted. The end of
// that user's claim wakes the object.
func (r *reconciler[K, R]) awaitEnd(id string) reconcile.Outcome {
	return reconcile.Wait(condition.ReasonProgressing,
		"Waiting for %s %s to be deleted with the last object that had it", r.engine.Noun, id)
}

// wakeSharers has the other users of a resource that is gone look for the resource too.
func (r *reconciler[K, R]) wakeSharers(p *pass[K, R], id string) {
	if r.kind.Shared == nil {
		return
	}
	for uid, other := range r.sharing.record(r.shareKey(p), p.id, p.Object.GetUID()) {
		if r.claims.of(uid) == id { // In the same cloud: the key says so.
			r.engine.alterations.note(other, r.engine.Clock.Now())
			r.engine.core.Requeue(other)
		}
	}
}

// createShared has the object use the resource that other objects have, or creates one.
func (r *reconciler[K, R]) createShared(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	key, uid := r.shareKey(p), p.Object.GetUID()
	others, ok := r.sharing.beginCreation(key, p.id, uid)
	if !ok {
		return reconcile.Wait(condition.ReasonProgressing, "Waiting for another object to have the same %s created",
			r.engine.Noun)
	}
	defer func() {
		r.sharing.endCreation(key, uid, r.claims.of(uid) == "" && r.intent(p) != nil && !p.memory.refused)
	}()
	if others > 0 || (r.intent(p) != nil && !p.memory.refused) {
		found, err := r.find(ctx, p, Search{Name: r.kind.Name(p.Object)})
		if err != nil {
			return r.failed(p, err)
		}
		if joined, o := r.useExisting(ctx, p, found); joined {
			return o
		}
	}
	return r.create(ctx, p)
}

// useExisting has the object join the first found resource that another object uses. If no
// object uses a found resource, but an object may have created it without an answer, the
// object waits for that one.
func (r *reconciler[K, R]) useExisting(
	ctx context.Context, p *pass[K, R], found []R,
) (decided bool, o reconcile.Outcome) {
	uid := p.Object.GetUID()
	for _, resource := range found {
		if r.claims.isUsed(resourceID{p.cloud, r.kind.Identify(resource).ID}, uid, p.id) {
			return true, r.join(ctx, p, resource)
		}
	}
	if len(found) > 0 && r.sharing.isUnanswered(r.shareKey(p), uid) {
		return true, r.poll(p, "Waiting for another object that may have had %s %s created",
			r.engine.Noun, r.kind.Identify(found[0]).ID)
	}
	return false, o
}

// join has the object use an existing resource. The id is written into the status before the
// object counts as a user, since after a restart only the status tells the users.
func (r *reconciler[K, R]) join(ctx context.Context, p *pass[K, R], resource R) reconcile.Outcome {
	id, former := r.kind.Identify(resource).ID, p.status().ID
	r.sharing.record(r.shareKey(p), p.id, p.Object.GetUID())
	p.memory.refused = true // Nothing is asked for. The intent is for stray.go.
	if o := r.writeFinalizer(ctx, p, r.newIntent(p)); !o.IsDone() {
		return o
	}
	p.status().ID, p.status().Place, p.sight = &id, p.recordedPlace(), condition.Lacking
	p.use()
	if err := r.report(ctx, p, r.refresh()); err != nil {
		return reconcile.Fail(condition.ReasonTransientError, err)
	}
	if !r.claims.ask(r.claimed(p.cloud, p.Object, id), p.Object.GetUID(), p.id) {
		p.status().ID = former
		return r.awaitEnd(id)
	}
	resource, err := r.get(ctx, p, id) // From now on nobody else has it deleted.
	if isClass(err, Missing) {
		p.status().ID = former
		r.claims.drop(p.Object.GetUID())
		return r.refresh()
	}
	return r.found(p, resource, err)
}

// explainRefusal decides what follows when the cloud refused to create a shared resource
// because the resource exists. If the resource is not found any more, the creation is tried
// again, once.
func (r *reconciler[K, R]) explainRefusal(ctx context.Context, p *pass[K, R]) (decided bool, o reconcile.Outcome) {
	found, err := r.find(ctx, p, Search{Name: r.kind.Name(p.Object)})
	if err != nil {
		return true, r.failed(p, err)
	}
	if decided, o := r.useExisting(ctx, p, found); decided {
		return true, o
	}
	if len(found) == 0 {
		again := !p.memory.repeated
		p.memory.repeated = true
		if again {
			return true, r.refresh()
		}
		return false, o
	}
	p.memory.tried = unsettled // An object that adopts it wakes this one.
	return true, reconcile.Refuse(condition.ReasonInvalidConfiguration,
		"%s %s exists already, and no object had it created: set spec.adopt to take it over, "+
			"or delete it in %s and create this object anew", r.engine.Noun, r.kind.Identify(found[0]).ID, r.engine.Cloud)
}

// leavesToOthers reports whether the object's resource has other users, which keep it when
// the object is deleted.
func (r *reconciler[K, R]) leavesToOthers(p *pass[K, R], id string) bool {
	return r.kind.Shared != nil && id != "" && r.claims.leave(r.claimed(p.cloud, p.Object, id), p.Object.GetUID())
}
