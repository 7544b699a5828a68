package external

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A cloud may refuse to change a resource while another resource changes in the same place
// ([Kind.Serial]). For example, the Routes of a route table change in turn, and the Subnets and Peerings of
// a network do. reconciler.awaitChange reserves the place before Actuator.Create, Update or Delete. The
// reservation lasts until the change has ended (isChanging), which may take many passes. The other objects
// of the place wait in order (sequence.waiting). records.leaveSequence gives the reservation to a waiting
// object, and requeues that object.
//
// An object gives up its reservation when a pass ends without a running change, and when the object waits
// for an event. For example, a deleted object may wait for its users, and meanwhile no pass asks for the
// end of its change. The cloud may then refuse the change of the next object, which is tried again.
//
// The reservation of a creation is in the intent (intent.Serial), and survives a restart (restoreChange).
// After a restart an update is called again, and reserves the place again.

// sequence lists the objects that change resources in a place. Namespaces are served in turn, so that many
// objects of one namespace do not keep another namespace from changing its resource.
type sequence struct {
	holder  *record // of the reservation
	waiting []*record
	served  map[string]int // reservations by namespace
}

func newSequence(r *record) *sequence {
	return &sequence{holder: r, served: map[string]int{r.id.Namespace: 1}}
}

// next gives the reservation to a waiting object of the namespace that had the fewest.
func (o *sequence) next() {
	o.holder = slices.MinFunc(o.waiting, func(a, b *record) int {
		return o.served[a.id.Namespace] - o.served[b.id.Namespace]
	})
	o.served[o.holder.id.Namespace]++
	o.remove(o.holder)
}

// remove removes an object from sequence.waiting.
func (o *sequence) remove(r *record) {
	o.waiting = slices.DeleteFunc(o.waiting, func(other *record) bool { return other == r })
}

// serialKey returns the place in which the object's resource is changed, or the zero cloudKey if the
// changes of the resource are independent.
func (r *reconciler[K, R]) serialKey(p *pass[K, R]) cloudKey {
	if r.kind.Serial == nil {
		return cloudKey{}
	}
	if key := r.kind.Serial(p.Input); key != "" {
		return cloudKey{cloud: p.cloud, key: key}
	}
	return cloudKey{}
}

// awaitChange reserves the place of the object's resource (records.reserveChange), or waits while another
// object has the reservation.
func (r *reconciler[K, R]) awaitChange(p *pass[K, R]) reconcile.Outcome {
	place := r.serialKey(p)
	if place == (cloudKey{}) {
		return reconcile.Outcome{}
	}
	holder, ok := r.engine.records.reserveChange(p.record, place)
	switch {
	case ok && p.reserved:
		return reconcile.Outcome{} // memory.heard stays: a change that fails again and again confirms nothing.
	case ok:
		p.reserved, p.record.heard = true, r.engine.Clock.Now()
		return reconcile.Outcome{}
	case holder.Namespace == p.id.Namespace:
		return reconcile.Wait(condition.ReasonProgressing, "Waiting for the change of %s in %s to end",
			holder.Short(), place.key)
	}
	// Users of a namespace do not learn the names of objects in other namespaces.
	return reconcile.Wait(condition.ReasonProgressing, "Waiting for the change of another %s in %s to end",
		r.engine.Noun, place.key)
}

// endChange gives up the reservation of an object at the end of a pass, unless isChanging.
func (r *reconciler[K, R]) endChange(p *pass[K, R], outcome reconcile.Outcome) {
	if p.reserved && !r.isChanging(p, outcome) {
		r.engine.records.endChange(p.record)
	}
}

// isChanging reports whether a change of the object's resource continues after the pass. A change that the
// cloud has not confirmed for the time carriedOut counts as ended (memory.heard), for example because the
// credentials of the object are refused, or because each request fails.
func (r *reconciler[K, R]) isChanging(p *pass[K, R], outcome reconcile.Outcome) bool {
	now, i := r.engine.Clock.Now(), r.intent(p)
	if p.underway || p.record.heard.IsZero() { // It is zero if the reservation was restored.
		p.record.heard = now
	}
	if now.Sub(p.record.heard) >= carriedOut {
		return false
	}
	if p.parked || outcome.IsSuperseded() {
		return true
	}
	if result, err := outcome.Result(); p.takenAlong || (err == nil && result.RequeueAfter == 0) {
		return false // No pass asks for the end of a change.
	}
	attempted := i != nil && !p.record.refused && i.Replaces == idOf(p.Object)
	looks := p.record.polls.next.After(now) // The resource does not serve yet.
	return attempted || looks || p.record.updating != "" || p.record.deleting.Load()
}

// restoreChange reserves the place of an intent that another process has recorded (intent.Serial).
func (r *reconciler[K, R]) restoreChange(one *record, obj client.Object) {
	if r.kind.Serial == nil {
		return
	}
	var place cloudKey
	i := intentOf(r.engine.Group, obj)
	if i != nil && i.UID == obj.GetUID() && i.Serial != "" && i.Replaces == idOf(obj.(K)) {
		place = cloudKey{cloud: i.Cloud, key: i.Serial}
	}
	r.engine.records.restoreChange(one, place)
}

// beginPass reports whether an object has a reservation at the beginning of a pass. beginPass sets
// record.visited, so that records.restoreChange ignores later events of the watch, which may be older than
// the pass.
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

// reserveChange returns the object that has the reservation of a place, and whether this is the object of r.
// A waiting object is requeued by records.leaveSequence of the other object.
func (s *records) reserveChange(r *record, place cloudKey) (holder object.ID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.gone.Load() {
		return object.ID{}, false
	}
	if r.serial != place {
		s.leaveSequence(r)
		r.serial = place
		if order := s.sequences[place]; order != nil {
			order.waiting = append(order.waiting, r)
		} else {
			s.sequences[place] = newSequence(r)
		}
	}
	return s.sequences[place].holder.id, s.holdsPlace(r)
}

// endChange gives the reservation of an object to the next object of the sequence.
func (s *records) endChange(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveSequence(r)
}

// restoreChange reserves a free place for an object that had no pass in this process (record.visited). For
// a zero place, restoreChange ends the reservation.
func (s *records) restoreChange(r *record, place cloudKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.visited || r.gone.Load() || r.serial == place {
		return
	}
	s.leaveSequence(r)
	if place != (cloudKey{}) && s.sequences[place] == nil {
		r.serial, s.sequences[place] = place, newSequence(r)
	}
}

// leaveSequence ends the reservation of an object, or removes the object from sequence.waiting.
func (s *records) leaveSequence(r *record) {
	order, place := s.sequences[r.serial], r.serial
	r.serial = cloudKey{}
	switch {
	case order == nil:
	case order.holder != r:
		order.remove(r)
	case len(order.waiting) == 0:
		delete(s.sequences, place)
	default:
		order.next()
		s.wake(order.holder.id)
	}
}
