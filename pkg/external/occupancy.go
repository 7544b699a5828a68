package external

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// record.uses lists the resources that an object's resource uses, according to its status, and
// record.deletion lists the resources whose use may block a deletion. Relations do not suffice: a Port
// whose addresses Neutron chose refers to the Network only, and the port also blocks the deletion of the
// subnet.

// deletion is a running deletion of a resource.
type deletion struct {
	own Resource
	// used are the resources that the resource deletion.own uses. Other users of these resources may block
	// the deletion. For example, a floating IP blocks the deletion of a router interface of the same router.
	used []Resource
	// refused says that the cloud refused the deletion as [Busy]. free says that the use may have ended since
	// (records.freeDeletions).
	refused, free bool
}

// use sets record.uses, the resources that an object uses. A deleted object has no uses. use requeues the
// objects whose deletions may succeed now.
func (s *records) use(r *record, resources []Resource, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.gone.Load() {
		s.setUses(r, resources, ends)
	}
}

func (s *records) setUses(r *record, resources []Resource, ends bool) {
	before := r.uses
	r.uses, r.ends = resources, ends && len(resources) > 0
	for _, one := range resources {
		s.users.add(one, r)
	}
	for _, one := range before {
		if !slices.Contains(resources, one) {
			s.users.remove(one, r)
			s.freeDeletions(r, one)
		}
	}
}

// freeDeletions requeues the objects whose deletions may succeed now, after an object stopped using a
// resource. Such a deletion is of that resource (deletion.own), which has no other users. Or the deletion
// uses that resource (deletion.used), and no other deleted object uses the resources of deletion.used
// (records.isEnding).
func (s *records) freeDeletions(r *record, what Resource) {
	for _, waiter := range s.near.of(what) {
		d := waiter.deletion
		if waiter == r || d.free || s.isHeld(waiter, what) {
			continue
		}
		d.free = true
		if d.refused {
			s.wake(waiter.id)
		}
	}
}

func (s *records) isHeld(waiter *record, what Resource) bool {
	if what == waiter.deletion.own {
		return len(s.users[what]) > 0
	}
	return slices.ContainsFunc(waiter.deletion.used, func(one Resource) bool { return s.isEnding(one, waiter) })
}

// isEnding reports whether another deleted object uses a resource, and does not wait for users itself
// (deletion.refused).
func (s *records) isEnding(what Resource, but *record) bool {
	for r := range s.users[what] {
		if r != but && r.ends && (r.deletion == nil || !r.deletion.refused) {
			return true
		}
	}
	return false
}

// beginDeletion sets record.deletion before Actuator.Delete.
func (s *records) beginDeletion(r *record, own Resource, used []Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endDeletion(r)
	if r.gone.Load() {
		return
	}
	r.deletion = &deletion{own: own, used: used}
	for _, one := range append(slices.Clone(used), own) {
		s.near.add(one, r)
	}
}

// refuseDeletion sets deletion.refused after an error of class [Busy].
func (s *records) refuseDeletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.deletion != nil {
		r.deletion.refused = true
	}
}

// isDeletionFree reports whether the uses that may have blocked a deletion have ended since beginDeletion.
func (s *records) isDeletionFree(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.deletion != nil && r.deletion.free
}

func (s *records) endDeletion(r *record) {
	if r.deletion == nil {
		return
	}
	for _, one := range append(slices.Clone(r.deletion.used), r.deletion.own) {
		s.near.remove(one, r)
	}
	r.deletion = nil
}

// observed returns the object that an entry of status.observedDependencies names, and whether the object's
// kind belongs to the pack.
func (e *Engine) observed(of object.ID, d sharedv1alpha1.ObservedDependency) (object.ID, bool) {
	if d.Group != "" {
		target := object.ID{Group: d.Group, Kind: d.Kind, Namespace: of.Namespace, Name: d.Name}
		return target, e.kindOf(target.GroupKind()) != nil
	}
	group := of.Group // An earlier version of the operator wrote no group.
	if source := e.kindOf(of.GroupKind()); source != nil {
		for _, r := range source.relations {
			if r.Target.Kind == d.Kind {
				group = r.Target.Group
				break
			}
		}
	}
	target := object.ID{Group: group, Kind: d.Kind, Namespace: of.Namespace, Name: d.Name}
	if e.kindOf(target.GroupKind()) != nil {
		return target, true
	}
	for _, k := range *e.kinds.Load() { // A relation without a Target may lead to any group.
		if k.gvk.Kind == d.Kind {
			target.Group = k.gvk.Group
			return target, true
		}
	}
	return target, false
}

// usedBy returns the resources of status.observedDependencies in a cloud.
func (e *Engine) usedBy(cloud string, id object.ID, observed []sharedv1alpha1.ObservedDependency) (used []Resource) {
	for _, d := range observed {
		if target, ok := e.observed(id, d); ok {
			used = append(used, e.resource(target.GroupKind(), d.ID, cloud))
		}
	}
	return used
}

// resource returns the [Resource] of an id in a cloud, with [Kind.Key] applied.
func (e *Engine) resource(gk schema.GroupKind, id, cloud string) Resource {
	if k := e.kindOf(gk); k != nil && k.key != nil {
		id = k.key(id)
	}
	return Resource{gk, id, cloud}
}

// occupy sets record.uses of an object from its status (records.use).
func (e *Engine) occupy(k *kind, r *record, obj client.Object) {
	var used []Resource
	o, ok := obj.(Object)
	ok = ok && isManaged(o)
	if ok {
		cloud := k.cloudOf(o)
		used = e.usedBy(cloud, r.id, o.GetExternalStatus().ObservedDependencies)
		if k.uses != nil {
			for _, one := range k.uses(o) {
				used = append(used, e.resource(one.Kind, one.ID, cloud))
			}
		}
	}
	e.records.use(r, used, ok && o.GetDeletionTimestamp() != nil)
}

// cloudOf returns the cloud of status.place ([Kind.Cloud]).
func (k *kind) cloudOf(obj Object) string {
	if k.cloud == nil {
		return ""
	}
	return k.cloud(obj.GetExternalStatus().Place)
}

// The cloud refuses to delete a resource that is in use ([Busy]). Usually the users of the resource are
// being deleted too, and Actuator.Delete succeeds a moment later. Delete is repeated at once when the last
// object that used the resource is gone (occupancy.go). A user may have no object, such as a port that
// Neutron created for its own needs. Delete is then repeated every busyPause for busyPeriod, and after
// busyPeriod with the back-off of other failures.
const (
	busyPause  = 2 * time.Second
	busyPeriod = time.Minute
)

// refusal is the error of a refused Delete (err), the time of the first refusal (since), and the time of
// the next attempt (next).
type refusal struct {
	since, next time.Time
	err         error
}

// untilFree returns the pause before the next Actuator.Delete of a busy resource. untilFree is 0 if the
// last user of the resource has ended (records.isDeletionFree).
func (r *reconciler[K, R]) untilFree(p *pass[K, R]) time.Duration {
	if r.engine.records.isDeletionFree(p.record) {
		return 0
	}
	return max(0, p.record.busy.next.Sub(r.engine.Clock.Now()))
}

// awaitFree waits until the time refusal.next.
func (r *reconciler[K, R]) awaitFree(p *pass[K, R]) reconcile.Outcome {
	return reconcile.Retry(r.untilFree(p), condition.ReasonTransientError, p.record.busy.err)
}

// wasBusy plans the next Actuator.Delete after an error of class [Busy].
func (r *reconciler[K, R]) wasBusy(p *pass[K, R], err error) reconcile.Outcome {
	r.engine.records.refuseDeletion(p.record)
	busy, now := &p.record.busy, r.engine.Clock.Now()
	if busy.since.IsZero() {
		busy.since = now
	}
	busy.next, busy.err = time.Time{}, err
	if r.engine.records.isDeletionFree(p.record) { // The last user ended after the refusal.
		return reconcile.Retry(0, condition.ReasonTransientError, err)
	}
	if now.Sub(busy.since) >= busyPeriod {
		return r.failed(p, err)
	}
	busy.next = now.Add(cmp.Or(errorOf(err).After, busyPause))
	return r.awaitFree(p)
}

// Deleting a resource deletes the resources inside ([Kind.Within]), such as the networks of a resource
// group. recordEnd notes the end of the group in record.container of each object below the ResourceGroup,
// so that these objects end without a request each. After a restart record.container is empty, and
// lookFirst reads each resource (cascade.go).

// container is a deleted resource, which contained other resources.
type container struct{ id, cloud string }

// recordEnd notes the end of an owner's resource in record.container of the owned objects.
func (r *reconciler[K, R]) recordEnd(p *pass[K, R], id string) {
	if !r.kind.Cascades {
		return
	}
	for _, owned := range r.engine.core.Owned(p.id) {
		if obj := r.engine.core.Get(owned); obj != nil {
			r.engine.records.of(owned, obj.GetUID()).container.Store(&container{id, p.cloud})
		}
	}
}

// wentWithOwner reports whether the resource of a deleted object was inside the deleted resource of
// record.container.
func (r *reconciler[K, R]) wentWithOwner(p *pass[K, R]) bool {
	gone, id, cloud := p.record.endOf(), r.knownID(p), ""
	if r.kind.Cloud != nil {
		cloud = r.kind.Cloud(p.status().Place)
	}
	return r.kind.Within != nil && gone.id != "" && gone.cloud == cloud && r.kind.Within(id, gone.id)
}

// endOf returns record.container: a deleted resource that may have contained the object's resource. A Create
// for the object resets the field (records.setAttempt).
func (r *record) endOf() container { return ptr.Deref(r.container.Load(), container{}) }
