package external

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
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
// waits for this object. An object whose resource is kept, or went with its owner's, does not wait.
func (r *reconciler[K, R]) awaitOwner(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	facts := r.remainder(p)
	if facts.decide() == keepResource {
		return reconcile.Outcome{}
	}
	owners := r.engine.withOwners(r.engine.ownersOf(p.id.GroupKind(), p.Object))
	i := slices.IndexFunc(owners, func(id object.ID) bool { return r.engine.takesAlong(id, r.engine.core.Get(id)) })
	if i < 0 && facts.decide() == deleteKnown {
		var err error
		if i, err = r.engine.unseenDeletion(ctx, owners); err != nil {
			return reconcile.Fail(condition.ReasonTransientError, err)
		}
	}
	if i < 0 {
		return reconcile.Outcome{}
	}
	p.takenAlong = true
	return reconcile.WaitFor(taking, condition.ReasonDeleting,
		"Waiting for %s to be deleted, which takes %s along", owners[i].Short(), r.engine.Noun)
}

// mostOwners bounds the generations of Engine.withOwners.
const mostOwners = 16

// withOwners returns owners, the owners of these owners, and so on: the nearest first, and without objects
// that do not exist.
func (e *Engine) withOwners(owners []object.ID) []object.ID {
	missing := func(id object.ID) bool { return e.core.Get(id) == nil || e.kindOf(id.GroupKind()) == nil }
	levels := graph.Levels(owners, mostOwners, func(level []object.ID) (next []object.ID) {
		for _, id := range level {
			if !missing(id) {
				next = append(next, e.ownersOf(id.GroupKind(), e.core.Get(id))...)
			}
		}
		return next
	})
	return slices.DeleteFunc(slices.Concat(levels...), missing)
}

// unseenDeletion returns the index of an owner for which Engine.takesAlong is true by now, or that is gone, and
// whose watch has not reported the deletion yet; -1 means none. Watches of two kinds are not in order: if a user
// deletes a ResourceGroup and then its VirtualNetwork, the operator may see the VirtualNetwork first, and would
// send a request for each. unseenDeletion skips owners that the operator has no right to get.
func (e *Engine) unseenDeletion(ctx context.Context, owners []object.ID) (int, error) {
	for i, id := range owners {
		k, seen := e.kindOf(id.GroupKind()), e.core.Get(id)
		if k == nil || !k.cascades || seen == nil || seen.GetDeletionTimestamp() != nil {
			continue
		}
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(k.gvk)
		err := client.IgnoreNotFound(e.Live.Get(ctx, client.ObjectKeyFromObject(seen), now))
		switch {
		case apierrors.IsForbidden(err):
		case err != nil:
			return -1, fmt.Errorf("look for the deletion of %s: %w", id.Short(), err)
		case now.UID == "" || e.takesAlong(id, now):
			return i, nil
		}
	}
	return -1, nil
}

// takesAlong reports whether the resource of an owner is about to be deleted together with the resources
// inside ([Kind.Cascades]). now is the owner or its metadata.
func (e *Engine) takesAlong(id object.ID, now metav1.Object) bool {
	owner, ok := e.core.Get(id).(Object)
	k := e.kindOf(id.GroupKind())
	if !ok || k == nil || now.GetDeletionTimestamp() == nil || !k.cascades ||
		!slices.Contains(now.GetFinalizers(), e.finalizer(k.gvk)) ||
		slices.Contains(now.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		return false
	}
	return isManaged(owner) && !isDetached(owner) &&
		(e.records.of(id, owner.GetUID()).deleting.Load() || len(e.outsiders(id)) == 0)
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
		p.record.deleting.Store(true)
		p.record.polls = polls{}
		return false, true, r.deleteEarly(ctx, p, r.awaitGone(p, resource, nil))
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
		return p.isOrphanOf(t) || (t.Relation().Role == relation.Owner && t.Object().GetDeletionTimestamp() != nil)
	})
}

// isOrphanOf reports whether a target is an owner that does not exist any more. Another object may have its name.
func (p *pass[K, R]) isOrphanOf(t engine.Target) bool {
	return t.Relation().Role == relation.Owner && (t.Object() == nil || !object.IsOwnedBy(p.Object, t.Object().GetUID()))
}

// collecting is how long the garbage collector may take to delete the objects of a deleted owner. taking is
// how long the status of an object does not say that the object waits in awaitOwner.
const (
	collecting = 30 * time.Second
	taking     = 5 * time.Second
)

// untilCollected returns how long reconciler.conclude does not write the status of an object that is about to
// end: a write for each object of a tree would delay the deletions of the others.
func (r *reconciler[K, R]) untilCollected(p *pass[K, R]) time.Duration {
	most, now := r.endsWithin(p), r.engine.Clock.Now()
	switch {
	case most == 0:
		p.record.endsSince = time.Time{}
		return 0
	case p.record.endsSince.IsZero():
		p.record.endsSince = now
	}
	return max(0, most-now.Sub(p.record.endsSince))
}

// endsWithin returns how long it may take until an object ends whose owner is deleted: the garbage collector is
// about to delete the object, or the cloud deletes its resource. Zero means that the object does not end with
// an owner.
func (r *reconciler[K, R]) endsWithin(p *pass[K, R]) time.Duration {
	switch {
	case p.takenAlong:
		return taking
	case p.waits && len(p.Object.GetOwnerReferences()) > 0 && slices.ContainsFunc(p.Refs.Targets(), p.isOrphanOf):
		return collecting
	}
	return 0
}

// wakeOwners requeues the deleted owners of an object that lost a finalizer, and the owners of these
// owners. The step awaitUsersOfOwned of an owner may have waited for the end of that guard.
func (e *Engine) wakeOwners(gk schema.GroupKind, obj client.Object) {
	for _, id := range e.withOwners(e.ownersOf(gk, obj)) {
		if owner := e.core.Get(id); owner != nil && owner.GetDeletionTimestamp() != nil {
			e.core.Requeue(id)
		}
	}
}

// ownersOf returns the targets of an object's edges with relation.Owner.
func (e *Engine) ownersOf(gk schema.GroupKind, obj client.Object) (owners []object.ID) {
	for _, edge := range e.core.Edges(gk, obj) {
		if edge.Role == relation.Owner {
			owners = append(owners, edge.Target.ID)
		}
	}
	return owners
}

// awaitFinalizers waits until the operator's finalizer is the last. The other finalizers are guards. The
// outcome names a source for each guard: a deleted Network waits for Subnet/blue. memory.named keeps the
// choice of Subnet/blue until Subnet/blue no longer refers to the Network. Otherwise the status of a
// Network with 100 Subnets would be written 100 times. Guards of owned sources ([Kind.Cascades]) are
// skipped (reconciler.outside).
func (r *reconciler[K, R]) awaitFinalizers(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	var outcome reconcile.Outcome
	before, now := p.record.named, heldBy{}
	for _, name := range p.Object.GetFinalizers() {
		if name == r.finalizer {
			continue
		}
		sources := r.engine.core.Sources(p.id, name)
		if len(sources) > 0 {
			if sources = r.outside(p, sources); len(sources) == 0 {
				continue
			}
		}
		if len(sources) == 0 {
			outcome = outcome.And(reconcile.Wait(condition.ReasonInUse,
				"Waiting for finalizer %s to be removed", name))
			continue
		}
		chosen := sources[0]
		if last := before[name]; slices.Contains(sources, last) {
			chosen = last
		}
		now[name] = chosen
		outcome = outcome.And(reconcile.Wait(condition.ReasonInUse,
			"Waiting for %s to be deleted: it holds finalizer %s", chosen.Short(), name))
	}
	p.record.named = now
	return outcome
}
