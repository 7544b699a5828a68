package usage

import (
	"context"
	"slices"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// lockUsed adds the lock, label crossplane.io/in-use, to every object that a Usage protects.
// lockUsed is done when the label is there and the API server is known to refuse the deletion.
func (r *reconciler) lockUsed(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	if len(edges) == 0 {
		// The informer does not show the own write of the finalizer or of resourceRef yet. Its event
		// starts the next pass (usageChanged).
		return reconcile.Progress(sharedv1alpha1.ReasonLocking,
			"waiting for the cache to show the Usage as it was written").Passing()
	}
	var outcome reconcile.Outcome
	for _, e := range edges {
		if e.Content != nil && r.ledger.Of(e) == relation.Free {
			continue // The namespace or the definition contains no protected object.
		}
		outcome = outcome.And(r.lockTarget(ctx, e))
	}
	return outcome
}

// lockBatch is how many objects of a set one pass may lock or unlock. Another pass does the rest, after the Usages of
// other namespaces had their turn: 100 writes in one pass would occupy a worker for a second while the API server is
// busy, and a tenant with 16 sets all workers.
const lockBatch = 10

// lockTarget locks every object that the target of an edge stands for.
func (r *reconciler) lockTarget(ctx context.Context, e relation.Edge) reconcile.Outcome {
	if e.Target.Selector == nil {
		return r.lockObject(ctx, e, e.Target.ID)
	}
	open, isEmpty, known := r.openMembers(e)
	switch {
	case !known:
		return r.unread(e.Target.GroupKind(), e.Field)
	case isEmpty:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound, "spec.of: waiting for %s", e.Target)
	}
	var outcome reconcile.Outcome
	for _, member := range open[:min(len(open), lockBatch)] {
		outcome = outcome.And(r.lockObject(ctx, e, member.ID))
	}
	if len(open) > lockBatch {
		more := reconcile.WaitFor(0, sharedv1alpha1.ReasonLocking, "adding label %s to %s", lockLabel, e.Target)
		outcome = outcome.And(more)
	}
	return outcome
}

// openMembers returns the members of the target of an edge that are not known to be locked, in the order of
// [relation.OlderFirst]. Of 2,000 locked members, openMembers returns none.
func (r *reconciler) openMembers(e relation.Edge) (open []relation.Object, isEmpty, known bool) {
	members, known := r.watcher.Members(e.Target)
	isHeld, isEmpty := r.ledger.Of(e) == relation.Held, true
	for member := range members {
		isEmpty = false
		if !isHeld || !r.lock.Settled(member) || !r.rules.Confirmed(member) {
			open = append(open, member)
		}
	}
	slices.SortFunc(open, relation.OlderFirst)
	return open, isEmpty, known
}

func (r *reconciler) lockObject(ctx context.Context, e relation.Edge, id object.ID) reconcile.Outcome {
	obj, presence, err := r.lock.Ensure(ctx, id)
	switch {
	case err != nil:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	case presence == relation.Unknown:
		return r.unread(id.GroupKind(), e.Field)
	case presence == relation.Absent && e.Content != nil:
		return reconcile.Outcome{} // A kind of Kubernetes itself has no definition.
	case presence == relation.Absent:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound, "spec.of: waiting for %s to exist", id)
	case r.lock.On(obj):
		return r.rules.Confirm(ctx, obj)
	case obj.Deleting:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound,
			"spec.of: %s is already being deleted, which can't be taken back", id)
	default:
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "adding label %s to %s", lockLabel, id)
	}
}

// unlockUsed ends the protection of a deleted Usage, and removes the lock from objects that no
// other Usage protects.
func (r *reconciler) unlockUsed(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	r.ledger.Release(p.id, p.GetUID())
	locked := r.lockedBy(p, edges)
	var outcome reconcile.Outcome
	if len(locked) > lockBatch {
		outcome = reconcile.WaitFor(0, sharedv1alpha1.ReasonReleasing, "removing label %s", lockLabel)
	}
	for _, id := range locked[:min(len(locked), lockBatch)] {
		obj, presence, err := r.lock.Ensure(ctx, id)
		switch {
		case err != nil:
			outcome = outcome.And(reconcile.Fail(sharedv1alpha1.ReasonFailed, err))
		case presence == relation.Unknown && !r.neverRead(p, id.GroupKind()) && r.mayExist(id):
			outcome = outcome.And(r.unread(id.GroupKind(), "spec.of"))
		case presence == relation.Present && r.lock.Wrong(obj):
			// The object was replaced during the write. The finalizer stays until Ensure succeeds.
			outcome = outcome.And(reconcile.WaitForCache(sharedv1alpha1.ReasonReleasing,
				"removing label %s from %s", lockLabel, id))
		}
	}
	return outcome
}

// mayExist reports whether the cluster serves the kind of an object, or can't tell.
func (r *reconciler) mayExist(id object.ID) bool {
	_, err := r.watcher.Mapping(id.GroupKind().WithVersion(""))
	return !relation.IsGone(err)
}

// lockedBy returns the objects that a Usage may have locked. Without edges, in a second pass or
// after a restart, the spec tells.
func (r *reconciler) lockedBy(p *pass, edges []relation.Edge) []object.ID {
	if len(edges) == 0 {
		edges = extract(p.usage, r.watcher)
	}
	var ids []object.ID
	for _, e := range edges {
		if e.Target.Selector == nil {
			ids = append(ids, e.Target.ID)
			continue
		}
		for _, obj := range r.ledger.Marked(e.Target.GroupKind(), e.Target.Namespace) {
			if r.lock.Wrong(obj) {
				ids = append(ids, obj.ID)
			}
		}
	}
	return ids
}
