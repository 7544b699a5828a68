package external

import (
	"context"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Several objects of a kind with [Kind.Shared] may share a resource, such as the connection of a router
// with a subnet (RouterInterface). status.id of an object names the resource before the object counts as a
// user (claims.go). The resource is deleted with its last user. An object only joins a resource that
// another object created or adopted (spec.adopt), so that no resource of a person is deleted.
//
// records.sharers lists the objects of a cloudKey, and records.beginCreation lets a single object at a
// time create the resource. Without beginCreation the cloud would refuse the second Create, and the second
// object could not distinguish the resource from a resource that a person has just created.

func (r *reconciler[K, R]) shareKey(p *pass[K, R]) cloudKey {
	return cloudKey{r.kind.GVK.GroupKind(), p.cloud, r.kind.Shared(p.Input)}
}

// joinShare sets record.share, the resource that the object shares with others.
func (s *records) joinShare(r *record, key cloudKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setShare(r, key)
}

func (s *records) setShare(r *record, key cloudKey) {
	if r.share == key || r.gone.Load() {
		return
	}
	s.leaveShare(r)
	r.share = key
	s.sharers.add(key, r)
}

func (s *records) leaveShare(r *record) {
	if r.share == (cloudKey{}) {
		return
	}
	s.sharers.remove(r.share, r)
	if r.creates {
		s.wakeSharing(r.share)
	}
	r.share, r.creates, r.awaits, r.unanswered = cloudKey{}, false, false, false
}

// wakeSharing requeues the objects with record.awaits after the creation by another object.
func (s *records) wakeSharing(key cloudKey) {
	for _, r := range s.sharers.of(key) {
		if r.awaits {
			r.awaits = false
			s.wake(r.id)
		}
	}
}

// beginCreation reports whether an object may create the shared resource now (ok), and whether other
// objects have the cloudKey (shared). A refused object is requeued by records.endCreation of the other
// object.
func (s *records) beginCreation(r *record, key cloudKey) (shared, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setShare(r, key)
	for other := range s.sharers[key] {
		if other != r && other.creates {
			r.awaits = true
			return true, false
		}
	}
	r.creates = true
	return s.sharers.hasOther(key, r), true
}

// endCreation lets other objects create the resource, and records whether Create for this object got no
// answer (record.unanswered).
func (s *records) endCreation(r *record, unanswered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.creates, r.unanswered = false, unanswered
	s.wakeSharing(r.share)
}

// isShareUnanswered reports whether Create for another object of the cloudKey got no answer
// (record.unanswered).
func (s *records) isShareUnanswered(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.sharers[r.share] {
		if other != r && other.unanswered {
			return true
		}
	}
	return false
}

// alterSharers requeues the other users of a shared resource. The users read the resource even if
// endIfSettled would skip the read (record.altered).
func (s *records) alterSharers(r *record, id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.sharers.of(r.share) {
		if other != r && other.claim.text == id { // In the same cloud: the key says so.
			other.noteAlteration(at)
			s.wake(other.id)
		}
	}
}

// recordUse claims the shared resource with an id for the object. While the last user deletes the resource
// (record.lastUser), the object waits.
func (r *reconciler[K, R]) recordUse(p *pass[K, R], id string) reconcile.Outcome {
	if r.kind.Shared == nil || !p.managed() {
		return reconcile.Outcome{}
	}
	r.engine.records.joinShare(p.record, r.shareKey(p))
	if !r.claimOrWait(p, id) {
		return r.awaitEnd(id)
	}
	return reconcile.Outcome{}
}

// awaitEnd waits until the last user has deleted a resource. records.release of that user's claim requeues
// the object.
func (r *reconciler[K, R]) awaitEnd(id string) reconcile.Outcome {
	return reconcile.Wait(condition.ReasonProgressing,
		"Waiting for %s %s to be deleted with the last object that had it", r.engine.Noun, id)
}

// wakeSharers requeues the other users of a deleted shared resource (records.alterSharers).
func (r *reconciler[K, R]) wakeSharers(p *pass[K, R], id string) {
	if r.kind.Shared == nil {
		return
	}
	r.engine.records.joinShare(p.record, r.shareKey(p))
	r.engine.records.alterSharers(p.record, id, r.engine.Clock.Now())
}

// createShared joins the resource that other objects share, or calls reconciler.create.
func (r *reconciler[K, R]) createShared(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	records := r.engine.records
	shared, ok := records.beginCreation(p.record, r.shareKey(p))
	if !ok {
		return reconcile.Wait(condition.ReasonProgressing, "Waiting for another object to have the same %s created",
			r.engine.Noun)
	}
	defer func() {
		records.endCreation(p.record, records.claimedID(p.record) == "" && r.intent(p) != nil && !p.record.refused)
	}()
	if shared || (r.intent(p) != nil && !p.record.refused) {
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

// useExisting calls reconciler.join for the first found resource that another object has claimed. If no
// object has claimed a found resource, but Create for another object got no answer (isShareUnanswered),
// the object polls until the other object has claimed the resource.
func (r *reconciler[K, R]) useExisting(
	ctx context.Context, p *pass[K, R], found []R,
) (decided bool, o reconcile.Outcome) {
	for _, resource := range found {
		if r.engine.records.isUsedElse(p.record, r.resourceOf(p.cloud, r.kind.Identify(resource).ID)) {
			return true, r.join(ctx, p, resource)
		}
	}
	if len(found) > 0 && r.engine.records.isShareUnanswered(p.record) {
		return true, r.poll(p, "Waiting for another object that may have had %s %s created",
			r.engine.Noun, r.kind.Identify(found[0]).ID)
	}
	return false, o
}

// join makes the object a user of an existing resource. join writes status.id before reconciler.claimOrWait,
// because after a restart only status.id of each object tells the users.
func (r *reconciler[K, R]) join(ctx context.Context, p *pass[K, R], resource R) reconcile.Outcome {
	id, former := r.kind.Identify(resource).ID, p.status().ID
	r.engine.records.joinShare(p.record, r.shareKey(p))
	p.record.refused = true // Nothing is asked for. The intent is for stray.go.
	if o := r.writeFinalizer(ctx, p, r.newIntent(p)); !o.IsDone() {
		return o
	}
	p.status().ID, p.status().Place, p.sight = &id, p.recordedPlace(), condition.Lacking
	p.use()
	if err := r.report(ctx, p, r.refresh()); err != nil {
		return reconcile.Fail(condition.ReasonTransientError, err)
	}
	if !r.claimOrWait(p, id) {
		p.status().ID = former
		return r.awaitEnd(id)
	}
	resource, err := r.get(ctx, p, id) // From now on nobody else has it deleted.
	if isClass(err, Missing) {
		p.status().ID = former
		r.engine.records.drop(p.record)
		return r.refresh()
	}
	return r.found(p, resource, err)
}

// explainRefusal decides what follows after the cloud refused Create for a shared resource because the
// resource exists. If Actuator.Find no longer finds the resource, Create is called again, once
// (memory.repeated).
func (r *reconciler[K, R]) explainRefusal(ctx context.Context, p *pass[K, R]) (decided bool, o reconcile.Outcome) {
	found, err := r.find(ctx, p, Search{Name: r.kind.Name(p.Object)})
	if err != nil {
		return true, r.failed(p, err)
	}
	if decided, o := r.useExisting(ctx, p, found); decided {
		return true, o
	}
	if len(found) == 0 {
		again := !p.record.repeated
		p.record.repeated = true
		if again {
			return true, r.refresh()
		}
		return false, o
	}
	p.record.tried, p.again = unsettled, vacated // An object that adopts it wakes this one.
	return true, reconcile.Refuse(condition.ReasonInvalidConfiguration,
		"%s %s exists already, and no object had it created: set spec.adopt to take it over, "+
			"or delete it in %s and create this object anew", r.engine.Noun, r.kind.Identify(found[0]).ID, r.engine.Cloud)
}

// leavesToOthers reports whether other objects keep the resource after the object's deletion. A resource
// of [Kind.Shared] is kept by its other users (records.leave). Any other resource is kept if this object
// has no claim, and another object has the claim.
func (r *reconciler[K, R]) leavesToOthers(p *pass[K, R], id string) bool {
	switch {
	case id == "":
		return false
	case r.kind.Shared != nil:
		return r.engine.records.leave(p.record, r.claimed(p.cloud, p.Object, id))
	default:
		return r.engine.records.claimedID(p.record) == "" && !r.claim(p, id)
	}
}
