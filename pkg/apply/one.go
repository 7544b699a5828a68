package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// noVersion is a resourceVersion that no object has. The API server creates an object that is
// applied with noVersion, or answers Conflict if an object of that name exists.
const noVersion = "1"

// attempts bounds how often pass.live reads an object after a Conflict (409). Each further attempt
// means that another client created or deleted the object between two requests.
const attempts = 3

var errUnsteady = errors.New("other clients create and delete the object at the same time")

// applyOne applies one object and updates its entry.
func (p pass) applyOne(ctx context.Context, o desired, entry *Entry) (Action, error) {
	seen := p.look(o.ID(), o.FieldOwner)
	if seen.ahead {
		p.recheck()
	}
	if seen.doubtful {
		var err error
		if seen, err = p.live(ctx, *entry, o.FieldOwner); err != nil {
			return Failed, err
		}
	}
	var refusal error
	for range attempts {
		action := p.decide(seen, *entry, o)
		if action != Created && action != Updated {
			return action, nil
		}
		after, left, err := p.send(ctx, o, seen, p.takeBack(ctx, o, seen, *entry))
		if err == nil {
			entry.applied(o, after, left)
			p.recheck()
			if seen.exists && after.Version == seen.Version {
				action = Unchanged // The API server had nothing to change.
			}
			return action, nil
		}
		if refusal = err; !isStale(err) {
			return Failed, err
		}
		if seen, err = p.live(ctx, *entry, o.FieldOwner); err != nil {
			return Failed, err
		}
	}
	return Failed, fmt.Errorf("%w: %w", errUnsteady, refusal)
}

// decide returns the Action for an object of Request.Want.
func (p pass) decide(seen sight, entry Entry, o desired) Action {
	switch {
	case !seen.exists:
		return Created
	case !p.owns(seen.Observed, entry):
		return Foreign
	case seen.Deleting:
		return Terminating
	case entry.UID != seen.UID || !o.isApplied(entry.Hash) || entry.Mark != seen.Mark:
		return Updated
	default:
		return Unchanged
	}
}

// owns reports whether an object belongs to the parent: Observed.Controller is the parent or,
// if the ownerReference was removed, Entry.UID is the object. An object with another
// controller belongs to that controller.
func (p pass) owns(seen Observed, entry Entry) bool {
	if seen.Controller != "" {
		return seen.Controller == p.request.Owner.UID
	}
	return entry.UID != "" && entry.UID == seen.UID
}

// send creates or changes an object, and returns the fields that stay with other field managers: the fields in left
// and, if the object Yields, all fields that other field managers have set.
func (p pass) send(ctx context.Context, o desired, seen sight, left []Left) (Observed, []Left, error) {
	sent := o.DeepCopy()
	if seen.exists {
		sent.SetUID(seen.UID)
	} else {
		sent.SetResourceVersion(noVersion)
	}
	if o.Yields && seen.exists {
		after, err := p.write(ctx, o, seen, sent.DeepCopy())
		if left = leftIn(err); len(left) == 0 {
			return after, nil, err
		}
	}
	if len(left) > 0 {
		if err := p.leave(ctx, sent, left); err != nil {
			return Observed{}, nil, err
		}
	}
	after, err := p.write(ctx, o, seen, sent, client.ForceOwnership)
	return after, left, err
}

// write sends an object. The content of sent becomes the answer of the API server.
func (p pass) write(
	ctx context.Context, o desired, seen sight, sent *unstructured.Unstructured, options ...client.ApplyOption,
) (Observed, error) {
	err := p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent),
		append(options, client.FieldOwner(o.FieldOwner))...)
	if err != nil {
		return Observed{}, err
	}
	after := Observe(sent, o.FieldOwner)
	if !seen.exists || after.Version != seen.Version {
		p.recent.wrote(o.ID(), after, p.now())
	}
	return after, nil
}

// isStale reports whether the API server refused a request because the object was created,
// replaced or deleted since Applier.View showed the object.
func isStale(err error) bool {
	return errors.Is(err, errMissing) ||
		apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || reconcile.IsAnother(err)
}

// live reads an object from the API server.
func (p pass) live(ctx context.Context, entry Entry, fieldOwner string) (sight, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(entry.GroupKind().WithVersion(entry.Version))
	err := p.Client.Get(ctx, entry.NamespacedName(), meta)
	if apierrors.IsNotFound(err) {
		p.recent.Forget(entry.ID)
		return sight{}, nil
	}
	if err != nil {
		return sight{}, fmt.Errorf("read %s: %w", entry.ID, err)
	}
	return sight{Observed: Observe(meta, fieldOwner), exists: true}, nil
}
