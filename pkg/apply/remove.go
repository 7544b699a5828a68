package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// dropNeverCreated removes entries of objects that are not in Request.Want and, as a live read
// shows, were never created. While a Foreign object blocks the parent, prune does not run: a
// parent whose spec changes often would fill the inventory otherwise.
func (p pass) dropNeverCreated(ctx context.Context) {
	wanted := map[object.ID]bool{}
	for _, o := range p.request.Want {
		wanted[o.ID()] = true
	}
	p.result.Inventory = slices.DeleteFunc(p.result.Inventory, func(e Entry) bool {
		if e.UID != "" || wanted[e.ID] || p.skips(e.ID) {
			return false
		}
		seen, err := p.live(ctx, e, p.FieldOwner)
		return err == nil && (!seen.exists || !p.owns(seen.Observed, e)) // After an error the entry is kept.
	})
}

// prune deletes the objects of Result.Inventory that are neither in Request.Want nor in
// Request.Skip, the last object first.
func (p pass) prune(ctx context.Context) error {
	wanted := map[int]bool{}
	for _, o := range p.request.Want {
		wanted[find(p.result.Inventory, o.ID())] = true
	}
	for i, e := range p.result.Inventory {
		if p.skips(e.ID) {
			wanted[i] = true
		}
	}
	delete(wanted, -1) // A wanted object that is skipped may have no entry.
	if len(wanted) == len(p.result.Inventory) {
		return nil
	}
	may := p.request.MayPrune == nil || p.request.MayPrune()
	all := p.result.Inventory
	var kept []Entry
	var failed []error
	for i, entry := range slices.Backward(all) {
		if wanted[i] {
			kept = append(kept, entry)
			continue
		}
		if !may {
			kept = append(kept, entry)
			p.did(entry.ID, Kept)
			continue
		}
		// An object whose deletion the API server has accepted can't come back, so its entry
		// is dropped at once.
		change, err := p.remove(ctx, entry, metav1.DeletePropagationBackground)
		if err != nil {
			failed = append(failed, fmt.Errorf("prune %s: %w", entry.ID, err))
		}
		switch change.Action {
		case Foreign:
			continue // The object was never created; the name belongs to another object.
		case Failed, Refused:
			kept = append(kept, entry)
		default:
			change.Action = Pruned
		}
		p.tell(change)
	}
	slices.Reverse(kept)
	p.result.Inventory = kept
	return errors.Join(failed...)
}

// Delete deletes every object of the inventory by descending Entry.Wave. A wave is deleted when no
// object of the wave after it exists any more. Result.Inventory lists the objects that still
// exist: call Delete again when one of these objects changes, until Result.Inventory is empty.
func (a *Applier) Delete(ctx context.Context, owner metav1.OwnerReference, have []Entry) (Result, error) {
	result := Result{Inventory: slices.Clone(have)}
	p := pass{Applier: a, request: Request{Owner: owner}, result: &result, final: true}
	for len(result.Inventory) > 0 {
		wave := slices.MaxFunc(result.Inventory, func(a, b Entry) int { return int(a.Wave - b.Wave) }).Wave
		left, err := p.deleteWave(ctx, wave)
		if err != nil || left {
			return result, err
		}
	}
	return result, nil
}

// deleteWave deletes the objects of a wave, and reports whether one of the objects still
// exists.
func (p pass) deleteWave(ctx context.Context, wave int32) (left bool, err error) {
	var failed []error
	var kept []Entry
	for _, entry := range slices.Backward(p.result.Inventory) {
		if entry.Wave != wave {
			kept = append(kept, entry)
			continue
		}
		// With foreground deletion a Deployment exists until its Pods are deleted. The Pods need
		// objects of earlier waves, such as the ServiceAccount in spec.serviceAccountName.
		change, err := p.remove(ctx, entry, metav1.DeletePropagationForeground)
		if err != nil {
			failed = append(failed, fmt.Errorf("delete %s: %w", entry.ID, err))
		}
		if change.Action == Foreign {
			continue
		}
		p.tell(change)
		if change.Action != Pruned {
			left = true
			kept = append(kept, entry)
		}
	}
	slices.Reverse(kept)
	p.result.Inventory = kept
	return left, errors.Join(failed...)
}

// remove deletes the object of an entry. The Action is Terminating until a live read finds no
// object; Applier.View alone may be outdated. The deletion carries uid and resourceVersion, because
// the garbage collector may be removing the ownerReference at the same time.
func (p pass) remove(ctx context.Context, entry Entry, propagation metav1.DeletionPropagation) (Change, error) {
	failed := Change{ID: entry.ID, Action: Failed}
	seen := p.look(entry.ID, p.FieldOwner)
	var err error
	if !seen.exists || (seen.ahead && seen.Deleting) || (entry.UID != "" && entry.UID != seen.UID) {
		if seen, err = p.live(ctx, entry, p.FieldOwner); err != nil {
			return failed, err
		}
	}
	var conflict error
	for range attempts {
		var change Change
		change, conflict = p.requestDeletion(ctx, entry, seen, propagation)
		if !apierrors.IsConflict(conflict) {
			return change, conflict
		}
		meant := seen.Observed
		if seen, err = p.live(ctx, entry, p.FieldOwner); err != nil {
			return failed, err
		}
		if seen.exists && seen.UID == meant.UID && seen.Version == meant.Version {
			// The resourceVersion is the same, so an admission webhook has refused with Conflict.
			return Change{ID: entry.ID, Action: Refused, Message: conflict.Error()}, nil
		}
	}
	return failed, fmt.Errorf("%w: %w", errUnsteady, conflict)
}

// requestDeletion deletes an object if the object still has the resourceVersion that was seen.
// Otherwise the API server answers Conflict.
func (p pass) requestDeletion(
	ctx context.Context, entry Entry, seen sight, propagation metav1.DeletionPropagation,
) (Change, error) {
	change := Change{ID: entry.ID}
	switch {
	case !seen.exists:
		change.Action = Pruned
		return change, nil
	case !p.mayRemove(seen.Observed, entry):
		change.Action = Foreign // The object does not belong to the parent, or no longer.
		return change, nil
	case seen.Deleting:
		change.Action = Terminating // The View will show the end of the object.
		return change, nil
	}
	err := p.Client.Delete(ctx, entry.blank(), client.PropagationPolicy(propagation),
		client.Preconditions{UID: &seen.UID, ResourceVersion: &seen.Version})
	switch {
	case err == nil:
		change.Action = Terminating
		if shown, exists := p.View.Get(entry.ID, p.FieldOwner); exists && shown.UID == seen.UID && !shown.Deleting {
			p.recent.deleted.Store(seen.UID, nil)
		}
	case apierrors.IsNotFound(err):
		p.recent.Forget(entry.ID)
		change.Action = Pruned
	case reconcile.IsDenied(err):
		change.Action, change.Message = Refused, err.Error()
	default:
		change.Action = Failed
		return change, err
	}
	return change, nil
}

// mayRemove reports whether an object may be deleted. An object without its ownerReference is
// kept when the parent is deleted: Kubernetes removes ownerReferences after
// `kubectl delete --cascade=orphan`.
func (p pass) mayRemove(seen Observed, entry Entry) bool {
	if p.final {
		return seen.Controller == p.request.Owner.UID
	}
	return p.owns(seen, entry)
}

// Orphan removes the ownerReference, or ParentAnnotation, from every object of the inventory.
// The garbage collector does the same after `kubectl delete --cascade=orphan`, but only for
// objects that its own cache shows by then, and deletes the others. Orphan fails with a
// conflict if another client writes an object at the same time.
func (a *Applier) Orphan(ctx context.Context, owner metav1.OwnerReference, have []Entry) error {
	var failed []error
	for _, entry := range have {
		if err := a.orphan(ctx, owner, entry); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("remove the owner from %s: %w", entry.ID, err))
		}
	}
	return errors.Join(failed...)
}

func (a *Applier) orphan(ctx context.Context, owner metav1.OwnerReference, entry Entry) error {
	obj := entry.blank()
	if err := a.Client.Get(ctx, entry.NamespacedName(), obj); err != nil {
		return err
	}
	before := obj.DeepCopy()
	rest := slices.DeleteFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID })
	if _, parent := readParent(obj); parent == owner.UID {
		annotations := obj.GetAnnotations()
		delete(annotations, ParentAnnotation)
		obj.SetAnnotations(annotations)
	} else if len(rest) == len(before.GetOwnerReferences()) {
		return nil
	}
	obj.SetOwnerReferences(rest)
	return a.Client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(a.FieldOwner))
}
