package usage

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// ringRetry is how long a Usage that may be part of a ring waits before the next search.
const ringRetry = 10 * time.Second

// awaitUsing keeps a deleted Usage while its using object needs the used object.
//
// A composed Usage (label crossplane.io/composite) is deleted together with its using object
// and waits without limit (seed 3, "Preventing early deletion"). Any other Usage waits while
// its using object is being deleted, and for [Options.GracePeriod] until such a deletion
// begins, so that `kubectl delete -f` keeps the order. After the grace period the Usage is
// deleted: a user can end a protection by deleting the Usage.
func (r *reconciler) awaitUsing(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	if len(edges) == 0 || edges[0].Source.IsZero() {
		return reconcile.Outcome{} // Released by an earlier pass, or never in force.
	}
	source := edges[0].Source
	ends, unknown := r.ledger.RingEnds(ctx, edges[0], r.isDeleted)
	if ends {
		return reconcile.Outcome{}
	}
	alive, deleting, outcome := r.sourceState(ctx, edges[0])
	if !outcome.IsDone() && r.neverRead(p, source.GroupKind()) {
		return reconcile.Outcome{}
	}
	if !outcome.IsDone() || !alive {
		return outcome
	}
	waits := isComposed(p.usage) || deleting
	switch {
	case !deleting && r.namespaceEnds(ctx, source):
		return r.deleteSource(ctx, source)
	case waits && unknown != nil: // The Usage may wait for itself.
		return reconcile.WaitFor(ringRetry, sharedv1alpha1.ReasonWaitingUsingDeleted,
			"waiting for %s to be deleted; %s", source, unknown)
	case waits:
		return reconcile.Wait(sharedv1alpha1.ReasonWaitingUsingDeleted, "waiting for %s to be deleted", source)
	}
	if left := r.options.GracePeriod - r.clock.Since(p.GetDeletionTimestamp().Time); left > 0 {
		return reconcile.WaitFor(left, sharedv1alpha1.ReasonWaitingUsingDeleted,
			"waiting up to %s for the deletion of %s to begin", r.options.GracePeriod, source)
	}
	return reconcile.Outcome{}
}

// isDeleted reports whether a Usage is being deleted, or does not exist.
func (r *reconciler) isDeleted(id object.ID) bool {
	u := r.ledger.get(id)
	return u == nil || u.GetDeletionTimestamp() != nil
}

// sourceState reports whether the using object exists and whether it is being deleted.
func (r *reconciler) sourceState(ctx context.Context, e relation.Edge) (alive, deleting bool, _ reconcile.Outcome) {
	if e.Source.Selector != nil {
		members, known := r.watcher.List(e.Source)
		if !known {
			return false, false, r.unread(e.Source.GroupKind(), "spec.by")
		}
		for _, m := range members {
			deleting = deleting || m.Deleting
		}
		return len(members) > 0, deleting, reconcile.Outcome{}
	}
	obj, presence := r.watcher.Get(e.Source.ID)
	switch {
	case presence == relation.Unknown:
		return false, false, r.unread(e.Source.GroupKind(), "spec.by")
	case presence == relation.Present && (e.SourceUID == "" || obj.UID == e.SourceUID):
		return true, obj.Deleting, reconcile.Outcome{}
	case e.SourceUID == "":
		return false, false, reconcile.Outcome{} // The Usage was never bound to an object.
	}
	live, exists, err := r.readBound(ctx, e.Declarer, e.Source.ID, e.SourceUID)
	return exists, live.Deleting, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
}

// neverRead reports whether the operator has no right to read a kind, and the Usage was not in
// force when the operator last had that right. Then there is no lock to remove.
func (r *reconciler) neverRead(p *pass, gk schema.GroupKind) bool {
	return apierrors.IsForbidden(r.watcher.Problem(gk)) &&
		!meta.IsStatusConditionTrue(p.seen.UsageStatus().Conditions, sharedv1alpha1.ConditionEffective)
}
