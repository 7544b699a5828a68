package usage

import (
	"context"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

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
