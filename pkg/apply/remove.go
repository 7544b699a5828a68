package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	p := pass{Applier: a, request: Request{Owner: owner}, result: &result}
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
// gone, which a view alone can't tell.
func (p pass) remove(ctx context.Context, entry Entry, propagation metav1.DeletionPropagation) (Action, error) {
	seen := p.recent.look(p.View, entry.ID)
	if seen.exists && seen.Deleting && p.owns(seen.Observed, entry) {
		return Terminating, nil // When it is gone, the view shows it.
	}
	if seen.exists && seen.UID == entry.UID && !p.owns(seen.Observed, entry) {
		return Foreign, nil // Somebody has taken it over: it stays.
	}
	uid := entry.UID
	if uid == "" && seen.exists && p.owns(seen.Observed, entry) {
		uid = seen.UID
	}
	return p.removeByUID(ctx, entry, uid, propagation)
}

// removeByUID deletes the very object of a uid or, as long as none is known, the one
// that is found to be the parent's.
func (p pass) removeByUID(
	ctx context.Context, entry Entry, uid types.UID, propagation metav1.DeletionPropagation,
) (Action, error) {
	for range attempts {
		if uid == "" {
			action, found, err := p.search(ctx, entry)
			if err != nil || action != Terminating {
				return action, err
			}
			uid = found
		}
		gone, err := p.deleteExactly(ctx, entry, uid, propagation)
		if apierrors.IsConflict(err) {
			uid = "" // Another object has the name: it may be one that was made anew.
			continue
		}
		if err != nil {
			return Failed, err
		}
		if gone {
			p.recent.forget(entry.ID)
			return Pruned, nil
		}
		return Terminating, nil
	}
	return Failed, errUnsteady
}

// search finds the uid of an object that the inventory does not know by uid.
func (p pass) search(ctx context.Context, entry Entry) (Action, types.UID, error) {
	live, err := p.live(ctx, entry)
	switch {
	case err != nil:
		return Failed, "", err
	case !live.exists:
		return Pruned, "", nil
	case live.Controller != p.request.Owner.UID:
		return Foreign, "", nil // Never ours, or not any more: it stays.
	default:
		return Terminating, live.UID, nil
	}
}
