package usage

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// undecidedRetry is how long a replay waits until another Usage knows its using objects: the
// kind of the using objects is not read yet. No watch event reaches the Usage that waits.
const undecidedRetry = time.Second

// wantsReplay reports whether a refused deletion is replayed: the Usage has
// spec.replayDeletion, or a controller of Kubernetes was refused, which would repeat the
// deletion anyway.
func wantsReplay(u usage, user string) bool {
	return ptr.Deref(u.UsageSpec().ReplayDeletion, false) || pack.IsKubernetesController(user)
}

// replayRefused replays the deletions that were refused because of a Usage that is being deleted.
func (r *reconciler) replayRefused(ctx context.Context, p *pass) reconcile.Outcome {
	return r.replayEach(p, func(refused *sharedv1alpha1.RefusedDeletion) (bool, reconcile.Outcome) {
		return true, r.replayOne(ctx, p, refused)
	})
}

// replayFreed replays refused deletions of objects that the Usage does not hold any more although
// the Usage stays: the last using object of a set was deleted, the spec names another object, or
// a ReferenceGrant was deleted.
func (r *reconciler) replayFreed(ctx context.Context, p *pass) reconcile.Outcome {
	return r.replayEach(p, func(refused *sharedv1alpha1.RefusedDeletion) (bool, reconcile.Outcome) {
		obj, presence, err := r.lock.Ensure(ctx, boundID(&refused.Target))
		switch {
		case err != nil:
			return false, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
		case presence == relation.Unknown:
			return false, reconcile.Outcome{}
		case presence == relation.Present && (r.ledger.Hold(obj) != relation.Free || r.lock.On(obj)):
			return false, reconcile.Outcome{}
		}
		return true, r.replayOne(ctx, p, refused)
	})
}

// replayEach calls replay with each recorded deletion. replayEach drops the records that are due
// and of which replay is done.
func (r *reconciler) replayEach(
	p *pass, replay func(*sharedv1alpha1.RefusedDeletion) (due bool, _ reconcile.Outcome),
) reconcile.Outcome {
	var outcome reconcile.Outcome
	var left []sharedv1alpha1.RefusedDeletion
	p.memory.prune(p.UsageStatus().Refused)
	for _, refused := range p.UsageStatus().Refused {
		if p.memory.isReplayed(&refused) {
			continue
		}
		due, result := replay(&refused)
		if due && result.IsDone() {
			p.memory.remember(&refused)
			r.memories.Store(p.id, p.memory)
		} else {
			left = append(left, refused)
		}
		outcome = outcome.And(result)
	}
	p.UsageStatus().Refused = left
	return outcome
}

// replayOne repeats a refused deletion of an object that no Usage protects any more. replayOne
// deletes only the object with the recorded UID, and only if the refused user may delete the
// object now.
func (r *reconciler) replayOne(
	ctx context.Context, p *pass, refused *sharedv1alpha1.RefusedDeletion,
) reconcile.Outcome {
	if !r.ledger.admission || r.clock.Since(refused.Time.Time) > r.options.ReplayExpiry {
		return reconcile.Outcome{} // Without admission, any user could have written the record.
	}
	id := boundID(&refused.Target)
	mapping, err := r.watcher.Mapping(id.GroupKind().WithVersion(""))
	if err != nil { // Without its kind, the object is gone.
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, relation.IgnoreGone(err))
	}
	if obj, presence := r.lock.Get(id); presence == relation.Present {
		switch r.ledger.Hold(obj) {
		case relation.Held:
			return r.handOver(ctx, refused, obj)
		case relation.Undecided: // The other Usage may not accept the record.
			return reconcile.WaitFor(undecidedRetry, sharedv1alpha1.ReasonReleasing,
				"waiting to know whether %s is in use by others", id)
		case relation.Free:
		}
	}
	allowed, err := r.mayReplay(ctx, mapping, refused)
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	if !allowed {
		if !pack.IsKubernetesController(refused.User) {
			r.events.Eventf(p.usage, nil, "Warning", "ReplayForbidden", "Delete",
				"%s may not delete %s any more", refused.User, id)
		}
		return reconcile.Outcome{}
	}
	var policy *metav1.DeletionPropagation
	if refused.PropagationPolicy != "" {
		policy = &refused.PropagationPolicy
	}
	return r.replayed(p, refused, r.deleteObject(ctx, mapping, id, refused.Target.UID, policy))
}

// mayReplay reports whether the refused user may delete the object now. For a controller of
// Kubernetes, Kubernetes must have a reason to delete the object, too: the name of the controller
// is all that the webhook was told, by a client that reached the webhook.
func (r *reconciler) mayReplay(
	ctx context.Context, mapping watch.Mapping, refused *sharedv1alpha1.RefusedDeletion,
) (bool, error) {
	id := boundID(&refused.Target)
	if pack.IsKubernetesController(refused.User) {
		if ok, err := r.kubernetesDeletes(ctx, mapping, id); err != nil || !ok {
			return false, err
		}
	}
	return r.reviewer.Allowed(ctx,
		authenticationv1.UserInfo{Username: refused.User, Groups: refused.Groups}, authorise.Action{
			Verb: "delete", Group: id.Group, Resource: mapping.Resource.Resource, Namespace: id.Namespace, Name: id.Name,
		})
}

// kubernetesDeletes reports whether Kubernetes would delete an object now: its namespace is being
// deleted, or every owner is gone or being deleted.
func (r *reconciler) kubernetesDeletes(ctx context.Context, mapping watch.Mapping, id object.ID) (bool, error) {
	if r.namespaceEnds(ctx, relation.Named(id)) {
		return true, nil
	}
	obj, err := r.metadata.Resource(mapping.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return false, relation.IgnoreGone(fmt.Errorf("read %s: %w", id, err))
	}
	owners := obj.GetOwnerReferences()
	for _, o := range owners {
		alive, err := r.isOwnerAlive(ctx, id.Namespace, o)
		if err != nil || alive {
			return false, err
		}
	}
	return len(owners) > 0, nil
}

// isOwnerAlive reports whether an owner exists and is not being deleted.
func (r *reconciler) isOwnerAlive(ctx context.Context, namespace string, o metav1.OwnerReference) (bool, error) {
	gk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	mapping, err := r.watcher.Mapping(gk.WithVersion(""))
	if err != nil {
		return false, relation.IgnoreGone(err)
	}
	owner := object.ID{Group: gk.Group, Kind: gk.Kind, Name: o.Name}
	if mapping.Namespaced {
		owner.Namespace = namespace
	}
	live, err := r.watcher.Live(ctx, owner)
	return err == nil && live.UID == o.UID && !live.Deleting, relation.IgnoreGone(err)
}

// replayed judges the answer to a replayed deletion. A refusal by another webhook, a policy or a
// missing right ends the replay with an event. A refusal by Kinship is tried again: a new Usage
// protects the object and takes the record over. Any other failure is tried again until the
// record expires.
func (r *reconciler) replayed(p *pass, refused *sharedv1alpha1.RefusedDeletion, err error) reconcile.Outcome {
	id := boundID(&refused.Target)
	switch {
	case err == nil:
		r.events.Eventf(p.usage, nil, "Normal", "ReplayDeletion", "Delete",
			"deleted %s, as %s had asked", id, refused.User)
	case relation.IsGone(err):
	case apierrors.HasStatusCause(err, guard.CauseInUse):
		return reconcile.WaitForCache(sharedv1alpha1.ReasonReleasing, "%s is in use again", id)
	case reconcile.IsDenied(err), reconcile.IsOvertaken(err), reconcile.IsAnother(err):
		r.events.Eventf(p.usage, nil, "Warning", "ReplayRefused", "Delete", "deletion of %s was refused: %s", id, err)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("replay deletion of %s: %w", id, err))
	}
	return reconcile.Outcome{}
}

// handOver adds a record to another Usage that still holds the object, or the record would be lost
// with this Usage.
func (r *reconciler) handOver(
	ctx context.Context, refused *sharedv1alpha1.RefusedDeletion, obj relation.Object,
) reconcile.Outcome {
	for _, e := range r.ledger.Holding(obj) {
		heir := r.ledger.get(e.Declarer)
		if heir == nil || e.Content != nil || !wantsReplay(heir, refused.User) {
			continue
		}
		if slices.ContainsFunc(heir.UsageStatus().Refused, func(own sharedv1alpha1.RefusedDeletion) bool {
			return own.Target.UID == refused.Target.UID
		}) {
			return reconcile.Outcome{}
		}
		after := heir.DeepCopyObject().(usage)
		if !appendRecord(after.UsageStatus(), *refused) {
			continue
		}
		// The record is news to the heir's own pass, so the heir's Writes must not record the
		// write.
		writer := reconcile.Writer{Client: r.client, FieldOwner: fieldOwner, Writes: &reconcile.Writes{}}
		_, err := writer.Status(ctx, e.Declarer, heir, after, true)
		if reconcile.IsOvertaken(err) || reconcile.IsSuperseded(err) { // Look again for a Usage that holds the object.
			return reconcile.WaitForCache(sharedv1alpha1.ReasonReleasing, "%s has just changed", e.Declarer)
		}
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	return reconcile.Outcome{}
}
