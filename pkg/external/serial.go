package external

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A cloud may refuse to change a resource while a change of another resource goes on in the same place
// ([Kind.Serial]). An object then reserves the place before the object calls Create, Update or Delete, and
// keeps the reservation until that change has ended, which may take many passes. The other objects of the
// place wait in the order in which they came. The end of a change gives the reservation to the first of these, and
// requeues that object.
//
// An object gives up its reservation when a pass ends without a change under way, and when the object waits for
// an event: a deleted object may wait for its users, and nobody asks for the end of its change meanwhile.
// Then the cloud decides again.
//
// A creation has its reservation in the intent, and so in another process too. An update is begun again there,
// and reserves anew.

// serialKey is a place in which one resource at a time is changed.
type serialKey struct {
	kind       schema.GroupKind
	cloud, key string
}

// sequence is the objects that change resources in one place.
type sequence struct {
	holder  *record // of the reservation
	waiting []*record
}

// serialKey returns the place in which the object's resource is changed, or the zero value if the changes of the
// resource are independent.
func (r *reconciler[K, R]) serialKey(p *pass[K, R]) serialKey {
	if r.kind.Serial == nil {
		return serialKey{}
	}
	key := r.kind.Serial(p.Input)
	if key == "" {
		return serialKey{}
	}
	return serialKey{r.kind.GVK.GroupKind(), p.cloud, key}
}

// awaitChange has an object wait while a change of another object goes on in the same place.
func (r *reconciler[K, R]) awaitChange(p *pass[K, R]) reconcile.Outcome {
	place := r.serialKey(p)
	if place == (serialKey{}) {
		return reconcile.Outcome{}
	}
	if r.engine.records.reserveChange(p.record, place) {
		p.reserved, p.record.heard = true, r.engine.Clock.Now()
		return reconcile.Outcome{}
	}
	return reconcile.Wait(condition.ReasonProgressing, "Waiting for the change of another %s in %s to end",
		r.engine.Noun, place.key)
}

// endChange gives up the reservation of an object at the end of a pass, unless the change goes on.
func (r *reconciler[K, R]) endChange(p *pass[K, R], outcome reconcile.Outcome) {
	if p.reserved && !r.isChanging(p, outcome) {
		r.engine.records.endChange(p.record)
	}
}

// isChanging reports whether a change of the object's resource goes on at the end of a pass. A change that
// the cloud did not tell of for carriedOut counts as ended: the credentials of the object may be refused, for
// example.
func (r *reconciler[K, R]) isChanging(p *pass[K, R], outcome reconcile.Outcome) bool {
	now, i := r.engine.Clock.Now(), r.intent(p)
	if p.parked || outcome.IsSuperseded() {
		return true
	}
	if result, err := outcome.Result(); err == nil && result.RequeueAfter == 0 {
		return false // Nothing causes a pass at the end of a change.
	}
	if p.underway || p.record.heard.IsZero() { // It is zero if the reservation was restored.
		p.record.heard = now
	}
	attempted := i != nil && !p.record.refused && i.Replaces == idOf(p.Object)
	looks := p.record.polls.next.After(now) // The resource does not serve yet.
	changing := attempted || looks || p.record.updating != "" || p.record.deleting
	return changing && now.Sub(p.record.heard) < carriedOut
}

// restoreChange reserves the place of a creation that another process has begun.
func (r *reconciler[K, R]) restoreChange(one *record, obj client.Object) {
	if r.kind.Serial == nil {
		return
	}
	var place serialKey
	i := intentOf(r.engine.Group, obj)
	if i != nil && i.UID == obj.GetUID() && i.Serial != "" && i.Replaces == idOf(obj.(K)) {
		place = serialKey{r.kind.GVK.GroupKind(), i.Cloud, i.Serial}
	}
	r.engine.records.restoreChange(one, place)
}

// beginPass reports whether an object has a reservation at the beginning of a pass. From then on
// no event of the watch restores one: the event may be older than the pass.
func (s *records) beginPass(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.visited = true
	return s.holdsPlace(r)
}

func (s *records) holdsPlace(r *record) bool {
	order := s.sequences[r.serial]
	return order != nil && order.holder == r
}

// reserveChange reports whether an object has the reservation of a place. An object that has not is requeued
// when it has.
func (s *records) reserveChange(r *record, place serialKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.gone {
		return false
	}
	if r.serial != place {
		s.leaveSequence(r)
		r.serial = place
		if order := s.sequences[place]; order != nil {
			order.waiting = append(order.waiting, r)
		} else {
			s.sequences[place] = &sequence{holder: r}
		}
	}
	return s.holdsPlace(r)
}

// endChange gives the reservation of an object to the next one.
func (s *records) endChange(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveSequence(r)
}

// restoreChange gives an object without a pass the reservation of a place that no other object has, or none
// if the place is zero.
func (s *records) restoreChange(r *record, place serialKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.visited || r.gone || r.serial == place {
		return
	}
	s.leaveSequence(r)
	if place != (serialKey{}) && s.sequences[place] == nil {
		r.serial, s.sequences[place] = place, &sequence{holder: r}
	}
}

// leaveSequence ends the reservation of an object, or the object's wait for one.
func (s *records) leaveSequence(r *record) {
	order, place := s.sequences[r.serial], r.serial
	r.serial = serialKey{}
	switch {
	case order == nil:
	case order.holder != r:
		order.waiting = slices.DeleteFunc(order.waiting, func(other *record) bool { return other == r })
	case len(order.waiting) == 0:
		delete(s.sequences, place)
	default:
		order.holder, order.waiting = order.waiting[0], order.waiting[1:]
		s.wake(order.holder.id)
	}
}
