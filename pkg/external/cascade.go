package external

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// The cloud may delete the resources of owned objects with the owner's resource ([Kind.Cascades]). A
// single Actuator.Delete then deletes a tree, such as a ResourceGroup with its VirtualNetworks. A Delete
// for each resource of the tree would be refused or useless.

// outside returns the sources that are not owned by the deleted object.
func (r *reconciler[K, R]) outside(p *pass[K, R], sources []object.ID) []object.ID {
	if !r.kind.Cascades {
		return sources
	}
	owned := r.engine.core.Owned(p.id)
	return slices.DeleteFunc(slices.Clone(sources), func(id object.ID) bool { return slices.Contains(owned, id) })
}

// use is an object (user) that guards another object (used) by a reference.
type use struct{ user, used object.ID }

// outsiders returns the uses of an object, and of the objects in its tree of owners, by objects outside of
// that tree. Each user has a single use. For example, a NetworkInterface uses the Subnet of a deleted
// VirtualNetwork.
func (e *Engine) outsiders(id object.ID) (uses []use) {
	inside := append([]object.ID{id}, e.core.Owned(id)...)
	named := make(map[object.ID]bool, len(inside))
	for _, one := range inside {
		named[one] = true
	}
	for _, one := range inside {
		for _, user := range e.core.Guards(one) {
			if !named[user] {
				named[user] = true
				uses = append(uses, use{user, one})
			}
		}
	}
	return uses
}

// awaitUsersOfOwned waits for objects outside of the tree that refer to owned objects (Engine.outsiders).
// For example, a deleted VirtualNetwork waits for the NetworkInterface of its Subnet, because the cloud
// would refuse to delete the network.
func (r *reconciler[K, R]) awaitUsersOfOwned(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	if !r.kind.Cascades || r.remainder(p).decide() == keepResource {
		return reconcile.Outcome{}
	}
	var outcome reconcile.Outcome
	for _, one := range r.engine.outsiders(p.id) {
		if one.used != p.id { // Which awaitFinalizers names.
			outcome = outcome.And(reconcile.Wait(condition.ReasonInUse,
				"Waiting for %s to be deleted: it refers to %s", one.user.Short(), one.used.Short()))
		}
	}
	return outcome
}

// awaitOwner waits for the owner of a deleted object if the owner is deleted too, and its [Kind.Cascades]
// deletes the object's resource. With foreground deletion the owner waits for the object instead.
// awaitOwner does not wait for an owner that has outsiders: such a user may be in another tree whose owner
// waits for this object. An object whose resource went with its owner's has no p.Refs here, because
// restoreGuards has not resolved them: the object does not wait.
func (r *reconciler[K, R]) awaitOwner(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	for _, t := range p.Refs.Targets() {
		if t.Relation().Role != relation.Owner {
			continue
		}
		if owner, ok := r.engine.leavingOwner(t.ID(), mostOwners); ok {
			return reconcile.Wait(condition.ReasonDeleting, "Waiting for %s to be deleted, which takes %s along",
				owner.Short(), r.engine.Noun)
		}
	}
	return reconcile.Outcome{}
}

// mostOwners bounds the recursion of Engine.leavingOwner from owner to owner.
const mostOwners = 16

// leavingOwner returns the nearest owner for which Engine.takesAlong is true: the object's owner, or an
// owner of the owner.
func (e *Engine) leavingOwner(id object.ID, most int) (object.ID, bool) {
	owner, k := e.core.Get(id), e.kindOf(id.GroupKind())
	if owner == nil || k == nil || most == 0 {
		return id, false
	}
	if e.takesAlong(k, id, owner) {
		return id, true
	}
	for _, next := range e.ownersOf(k, owner) {
		if found, ok := e.leavingOwner(next, most-1); ok {
			return found, true
		}
	}
	return id, false
}

// takesAlong reports whether the resource of an owner is about to be deleted together with the resources
// inside ([Kind.Cascades]).
func (e *Engine) takesAlong(k *kind, id object.ID, owner client.Object) bool {
	if owner.GetDeletionTimestamp() == nil || !k.cascades ||
		!slices.Contains(owner.GetFinalizers(), e.finalizer(k.gvk)) ||
		slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		return false
	}
	return isManaged(owner.(Object)) && !isDetached(owner.(Object)) && len(e.outsiders(id)) == 0
}

// lookFirst calls Actuator.Get before Actuator.Delete if the resource may be deleted already
// (reconciler.mayBeGone): with the owner, or by a process that has ended. ends says that Delete is not
// needed.
func (r *reconciler[K, R]) lookFirst(
	ctx context.Context, p *pass[K, R], id string,
) (gone, ends bool, o reconcile.Outcome) {
	if !r.mayBeGone(p) {
		return false, false, o
	}
	resource, err := r.get(ctx, p, id)
	switch {
	case isClass(err, Missing):
		return true, true, r.refuseMoved(p)
	case err != nil:
		return false, true, r.failed(p, err)
	case r.kind.Leaving != nil && r.kind.Leaving(resource):
		r.awaitChange(p) // The deletion goes on in any case.
		p.record.deleting, p.record.polls = true, polls{}
		return false, true, r.awaitGone(p, resource, nil)
	}
	return false, false, o
}

// mayBeGone reports whether the resource of a deleted object may be deleted already.
func (r *reconciler[K, R]) mayBeGone(p *pass[K, R]) bool {
	began := meta.FindStatusCondition(p.status().Conditions, condition.Progressing)
	if began != nil && began.Reason == condition.ReasonDeleting {
		return true
	}
	return slices.ContainsFunc(p.Refs.Targets(), func(t engine.Target) bool {
		return t.Relation().Role == relation.Owner && (t.Object() == nil || t.Object().GetDeletionTimestamp() != nil ||
			!isOwned(p.Object, t.Object()))
	})
}

// isOwned reports whether metadata.ownerReferences of an object has the uid of owner.
func isOwned(obj, owner client.Object) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.UID == owner.GetUID()
	})
}

// collecting is how long the garbage collector may take to delete the objects of a deleted owner.
const collecting = 30 * time.Second

// untilCollected returns how long reconciler.conclude does not write the status of an object whose owner
// is deleted. The garbage collector is about to delete the object, and a write would delay that deletion
// and the deletions of all other objects of the owner.
func (r *reconciler[K, R]) untilCollected(p *pass[K, R]) time.Duration {
	orphaned := p.waits && len(p.Object.GetOwnerReferences()) > 0 &&
		slices.ContainsFunc(p.Refs.Targets(), func(t engine.Target) bool {
			return t.Relation().Role == relation.Owner && (t.Object() == nil || !isOwned(p.Object, t.Object()))
		})
	now := r.engine.Clock.Now()
	switch {
	case !orphaned:
		p.record.orphaned = time.Time{}
		return 0
	case p.record.orphaned.IsZero():
		p.record.orphaned = now
	}
	return max(0, collecting-now.Sub(p.record.orphaned))
}

// wakeOwners requeues the deleted owners of an object that lost a finalizer, and the owners of these
// owners. The step awaitUsersOfOwned of an owner may have waited for the end of that guard.
func (e *Engine) wakeOwners(k *kind, obj client.Object) {
	next, seen := e.ownersOf(k, obj), map[object.ID]bool{}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		owner, of := e.core.Get(id), e.kindOf(id.GroupKind())
		if seen[id] || owner == nil || of == nil {
			continue
		}
		seen[id] = true
		if owner.GetDeletionTimestamp() != nil {
			e.core.Requeue(id)
		}
		next = append(next, e.ownersOf(of, owner)...)
	}
}

// ownersOf returns the targets of an object's edges with relation.Owner.
func (e *Engine) ownersOf(k *kind, obj client.Object) (owners []object.ID) {
	for _, edge := range e.core.Edges(k.gk(), obj) {
		if edge.Role == relation.Owner {
			owners = append(owners, edge.Target.ID)
		}
	}
	return owners
}

// lostFinalizer reports whether a change removed a finalizer, or deleted an object with a finalizer.
func lostFinalizer(c watch.Change[client.Object]) bool {
	if c.Old == nil {
		return false
	}
	return slices.ContainsFunc(c.Old.GetFinalizers(), func(f string) bool {
		return c.New == nil || !slices.Contains(c.New.GetFinalizers(), f)
	})
}
