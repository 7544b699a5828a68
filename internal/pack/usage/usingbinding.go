package usage

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// bindUsing records the UID of the using object in status.using and adds the object to the
// ownerReferences of the Usage. A Usage is bound once: when the using object is deleted, the
// protection ends, even if another object of the same name is created.
func (r *reconciler) bindUsing(ctx context.Context, p *pass) reconcile.Outcome {
	by := p.UsageSpec().By
	if by == nil {
		unbind(p.usage)
		return reconcile.Outcome{}
	}
	source, err := refOf(p.usage, by, r.watcher)
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	if source.Selector != nil {
		unbind(p.usage)
		members, known := r.watcher.Members(source)
		switch {
		case !known:
			p.waitsForUsing = r.unread(source.GroupKind(), "spec.by")
		case isEmpty(members):
			p.waitsForUsing = reconcile.Wait(sharedv1alpha1.ReasonUsingNotFound, "spec.by: waiting for %s", source)
		}
		return reconcile.Outcome{}
	}
	obj, presence := r.watcher.Get(source.ID)
	if presence == relation.Unknown {
		return r.unread(source.GroupKind(), "spec.by")
	}
	if bound := p.UsageStatus().Using; bound != nil && boundID(bound) != source.ID {
		unbind(p.usage) // The spec was changed.
	}
	bound := p.UsageStatus().Using
	switch {
	case bound != nil && (presence == relation.Absent || obj.UID != bound.UID):
		return r.usingDeleted(ctx, p, source.ID)
	case presence == relation.Absent:
		p.waitsForUsing = reconcile.Wait(sharedv1alpha1.ReasonUsingNotFound,
			"spec.by: waiting for %s to exist; nothing is protected until then", source)
		return reconcile.Outcome{}
	}
	binding := bindTo(obj)
	p.UsageStatus().Using = &binding
	addOwner(p.usage, obj)
	return reconcile.Outcome{}
}

// unbind removes status.using, and the ownerReference to that object unless the object is the
// controller of the Usage.
func unbind(u usage) {
	bound := u.UsageStatus().Using
	if bound == nil {
		return
	}
	u.SetOwnerReferences(slices.DeleteFunc(u.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.UID == bound.UID && (o.Controller == nil || !*o.Controller)
	}))
	u.UsageStatus().Using = nil
}

// addOwner adds the using object to the ownerReferences of a Usage (seed 3, "Owner
// references"). addOwner leaves out an object of another namespace: Kubernetes allows no such
// ownerReference.
func addOwner(u usage, using relation.Object) {
	if using.ID.Namespace != "" && using.ID.Namespace != u.GetNamespace() {
		return
	}
	if object.IsOwnedBy(u, using.UID) {
		return
	}
	u.SetOwnerReferences(append(slices.Clone(u.GetOwnerReferences()), metav1.OwnerReference{
		APIVersion: u.UsageSpec().By.APIVersion, Kind: using.ID.Kind, Name: using.ID.Name, UID: using.UID,
	}))
}

// usingDeleted deletes a Usage when the object in status.using was deleted. A Usage with a
// controller is not deleted, because the controller would create the Usage again: such a Usage
// protects no object until an object of spec.by exists.
func (r *reconciler) usingDeleted(ctx context.Context, p *pass, id object.ID) reconcile.Outcome {
	bound := p.UsageStatus().Using
	_, exists, err := r.readBound(ctx, p.id, id, bound.UID)
	switch {
	case err != nil:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	case exists:
		return reconcile.WaitForCache(sharedv1alpha1.ReasonReading, "spec.by: waiting for the cache to show %s", id)
	case metav1.GetControllerOfNoCopy(p.usage) != nil:
		r.recordEnded(p, bound)
		p.UsageStatus().Using = nil
		return reconcile.Wait(sharedv1alpha1.ReasonUsingNotFound, "spec.by: waiting for %s to exist again", id)
	}
	p.deleted = true
	outcome := reconcile.Progress(sharedv1alpha1.ReasonReleasing, "%s was deleted, so the protection ends", id)
	if p.memory.deleted {
		return outcome // The cache does not show the deletion yet.
	}
	uid := p.GetUID()
	err = r.client.Delete(ctx, p.usage, client.Preconditions{UID: &uid})
	if err != nil && !reconcile.IsSuperseded(err) {
		p.deleted = false
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("delete %s: %w", p.id, err))
	}
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("Deleted the Usage of a deleted object", "object", p.id.String(),
			"using", id.String())
		p.memory.deleted = true
		r.memories.Store(p.id, p.memory)
	}
	return outcome
}

// readBound reports whether the using object with a UID exists. readBound reads the object from
// the API server unless the API server has reported its deletion
// ([relation.Ledger.SourceDeleted]).
func (r *reconciler) readBound(
	ctx context.Context, declarer, id object.ID, uid types.UID,
) (obj relation.Object, exists bool, _ error) {
	if r.ledger.SourceDeleted(declarer, uid) {
		return obj, false, nil
	}
	obj, err := r.watcher.Live(ctx, id)
	return obj, err == nil && obj.UID == uid, relation.IgnoreGone(err)
}

// isEmpty reports whether there are no objects.
func isEmpty(objects iter.Seq[relation.Object]) bool {
	for range objects {
		return false
	}
	return true
}

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
