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

// sift takes out of the inventory what was never more than intended and is not wanted any
// more, as soon as a live read says that it was never made. Nothing is pruned while
// something is in the way, and whoever changes his mind meanwhile would fill the record.
func (p pass) sift(ctx context.Context) {
	wanted := map[object.ID]bool{}
	for _, o := range p.request.Want {
		wanted[o.ID()] = true
	}
	p.result.Inventory = slices.DeleteFunc(p.result.Inventory, func(e Entry) bool {
		if e.UID != "" || wanted[e.ID] {
			return false
		}
		seen, err := p.live(ctx, e)
		return err == nil && (!seen.exists || !p.owns(seen.Observed, e)) // Who does not know, keeps it.
	})
}

// prune deletes what is in the inventory and not wanted, the last first.
func (p pass) prune(ctx context.Context) error {
	wanted := map[int]bool{}
	for _, o := range p.request.Want {
		wanted[find(p.result.Inventory, o.ID())] = true
	}
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
		// Once its deletion is accepted an object can't come back, so that nothing has
		// to be remembered of it.
		change, err := p.remove(ctx, entry, metav1.DeletePropagationBackground)
		if err != nil {
			failed = append(failed, fmt.Errorf("prune %s: %w", entry.ID, err))
		}
		switch change.Action {
		case Foreign:
			continue // It was never made, and what has the name is none of our concern.
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

// Delete deletes everything in the inventory, the last wave first, and each wave
// when the one after it is gone. The inventory of the result is what is left:
// call it again when something of that has changed, until nothing is.
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

// deleteWave deletes the entries of a wave, and reports whether some of them are
// still there.
func (p pass) deleteWave(ctx context.Context, wave int32) (left bool, err error) {
	var failed []error
	var kept []Entry
	for _, entry := range slices.Backward(p.result.Inventory) {
		if entry.Wave != wave {
			kept = append(kept, entry)
			continue
		}
		// The object stays until all that belongs to it is gone: its Pods need what
		// is in the waves before.
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

// remove deletes the object of an entry. It is Terminating until it is known to be
// gone, which a view alone can't tell. Nothing is deleted that is not as it was when
// it was decided on: the garbage collector may be taking the owner off just now.
func (p pass) remove(ctx context.Context, entry Entry, propagation metav1.DeletionPropagation) (Change, error) {
	failed := Change{ID: entry.ID, Action: Failed}
	seen := p.recent.look(p.View, entry.ID, p.now())
	var err error
	if !seen.exists || (entry.UID != "" && entry.UID != seen.UID) {
		if seen, err = p.live(ctx, entry); err != nil {
			return failed, err
		}
	}
	var conflict error
	for range attempts {
		var change Change
		change, conflict = p.ask(ctx, entry, seen, propagation)
		if !apierrors.IsConflict(conflict) {
			return change, conflict
		}
		meant := seen.Observed
		if seen, err = p.live(ctx, entry); err != nil {
			return failed, err
		}
		if seen.exists && seen.UID == meant.UID && seen.Version == meant.Version {
			// It is as it was meant: the conflict is somebody's, who words his refusal so.
			return Change{ID: entry.ID, Action: Refused, Message: conflict.Error()}, nil
		}
	}
	return failed, fmt.Errorf("%w: %w", errUnsteady, conflict)
}

// ask asks for the deletion of an object if it is still as it was seen, which else is a
// conflict.
func (p pass) ask(
	ctx context.Context, entry Entry, seen sight, propagation metav1.DeletionPropagation,
) (Change, error) {
	change := Change{ID: entry.ID}
	switch {
	case !seen.exists:
		change.Action = Pruned
		return change, nil
	case !p.mayRemove(seen.Observed, entry):
		change.Action = Foreign // Never ours, or not any more: it stays.
		return change, nil
	case seen.Deleting:
		change.Action = Terminating // When it is gone, the view shows it.
		return change, nil
	}
	err := p.Client.Delete(ctx, entry.blank(), client.PropagationPolicy(propagation),
		client.Preconditions{UID: &seen.UID, ResourceVersion: &seen.Version})
	switch {
	case err == nil:
		change.Action = Terminating
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

// mayRemove reports whether an object may be deleted. When the parent goes, what
// has lost its owner stays: that is how Kubernetes keeps what belonged to it, if
// whoever deleted the parent wanted that.
func (p pass) mayRemove(seen Observed, entry Entry) bool {
	if p.final {
		return seen.Controller == p.request.Owner.UID
	}
	return p.owns(seen, entry)
}

// Orphan has objects belong to nobody: it takes the reference to the owner off them.
// The garbage collector does so too for an owner that is deleted without what belongs
// to it, but only to those of which it has heard by then, and deletes the others. It
// fails with a conflict where somebody writes at the same time.
func (a *Applier) Orphan(ctx context.Context, owner metav1.OwnerReference, have []Entry) error {
	var failed []error
	for _, entry := range have {
		if err := a.orphan(ctx, owner, entry); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("take the owner off %s: %w", entry.ID, err))
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
	if len(rest) == len(before.GetOwnerReferences()) {
		return nil
	}
	obj.SetOwnerReferences(rest)
	return a.Client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(a.FieldOwner))
}
