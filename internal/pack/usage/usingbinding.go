package usage

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
