package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
		action, err := p.remove(ctx, entry, metav1.DeletePropagationBackground)
		if err != nil {
			kept = append(kept, entry)
			failed = append(failed, fmt.Errorf("prune %s: %w", entry.ID, err))
			p.did(entry.ID, Failed)
			continue
		}
		if action == Foreign {
			continue // It was never made, and what has the name is none of our concern.
		}
		p.did(entry.ID, Pruned)
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
		action, err := p.remove(ctx, entry, metav1.DeletePropagationForeground)
		if err != nil {
			failed = append(failed, fmt.Errorf("delete %s: %w", entry.ID, err))
			action = Failed
		}
		if action == Foreign {
			continue
		}
		p.did(entry.ID, action)
		if action == Failed || action == Terminating {
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
func (p pass) remove(ctx context.Context, entry Entry, propagation metav1.DeletionPropagation) (Action, error) {
	seen := p.recent.look(p.View, entry.ID)
	var err error
	if !seen.exists || (entry.UID != "" && entry.UID != seen.UID) {
		if seen, err = p.live(ctx, entry); err != nil {
			return Failed, err
		}
	}
	for range attempts {
		switch {
		case !seen.exists:
			return Pruned, nil
		case !p.mayRemove(seen.Observed, entry):
			return Foreign, nil // Never ours, or not any more: it stays.
		case seen.Deleting:
			return Terminating, nil // When it is gone, the view shows it.
		}
		err := p.Client.Delete(ctx, entry.blank(), client.PropagationPolicy(propagation),
			client.Preconditions{UID: &seen.UID, ResourceVersion: &seen.Version})
		switch {
		case err == nil:
			return Terminating, nil
		case apierrors.IsNotFound(err):
			p.recent.forget(entry.ID)
			return Pruned, nil
		case !apierrors.IsConflict(err):
			return Failed, err
		}
		if seen, err = p.live(ctx, entry); err != nil {
			return Failed, err
		}
	}
	return Failed, errUnsteady
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
