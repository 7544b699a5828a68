package usage

import (
	"context"

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
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "waiting for the cache to show the Usage as it was written")
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

// lockTarget locks every object that the target of an edge stands for.
func (r *reconciler) lockTarget(ctx context.Context, e relation.Edge) reconcile.Outcome {
	if e.Target.Selector == nil {
		return r.lockObject(ctx, e, e.Target.ID)
	}
	members, known := r.watcher.List(e.Target)
	switch {
	case !known:
		return r.unread(e.Target.GroupKind(), e.Field)
	case len(members) == 0:
		return reconcile.Wait(sharedv1alpha1.ReasonUsedNotFound, "spec.of: waiting for %s", e.Target)
	}
	var outcome reconcile.Outcome
	for _, member := range members {
		outcome = outcome.And(r.lockObject(ctx, e, member.ID))
	}
	return outcome
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
