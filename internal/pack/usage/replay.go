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
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Controllers of Kubernetes that delete what others deleted the owner or the
// namespace of. They try again by themselves, after ever longer pauses.
const (
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	// controllerManager is both where they have no accounts of their own.
	controllerManager = "system:kube-controller-manager"
)

// undecidedAgain is when to look again whether an object is held. What tells is a kind
// that is being read for another Usage than the one that waits.
const undecidedAgain = time.Second

// records reports whether a deletion that a Usage refuses is to be replayed: when
// the Usage asks for it, or when the one who was refused would try again anyway.
func records(u usage, user string) bool {
	replay := u.UsageSpec().ReplayDeletion
	return (replay != nil && *replay) || system(user)
}

// systemUsers are the controllers of Kubernetes that try again.
var systemUsers = []string{garbageCollector, namespaceController, controllerManager}

// system reports whether a user is one of them.
func system(user string) bool { return slices.Contains(systemUsers, user) }

// replay carries out the deletions that were refused because of a Usage which
// goes.
func (r *reconciler) replay(ctx context.Context, p *pass) reconcile.Outcome {
	return r.replayEach(p, func(refused *sharedv1alpha1.RefusedDeletion) (bool, reconcile.Outcome) {
		return true, r.replayOne(ctx, p, refused)
	})
}

// replayFreed carries out those of a Usage which stays, of objects that are not
// held any more: a set of using objects is empty, the spec names another object,
// or a grant was withdrawn.
func (r *reconciler) replayFreed(ctx context.Context, p *pass) reconcile.Outcome {
	if p.over {
		return reconcile.Outcome{} // It replays on its way out.
	}
	return r.replayEach(p, func(refused *sharedv1alpha1.RefusedDeletion) (bool, reconcile.Outcome) {
		obj, presence, err := r.lock.Ensure(ctx, identifyBound(&refused.Target))
		switch {
		case err != nil:
			return false, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
		case presence == relation.Unknown:
			return false, reconcile.Outcome{}
		case presence == relation.Present && (r.ledger.hold(obj) != relation.Free || r.lock.On(obj)):
			return false, reconcile.Outcome{}
		}
		return true, r.replayOne(ctx, p, refused)
	})
}

// replayEach hands over every recorded deletion, and forgets those of which it
// hears that their time had come and that nothing is left to do.
func (r *reconciler) replayEach(
	p *pass, carryOut func(*sharedv1alpha1.RefusedDeletion) (due bool, _ reconcile.Outcome),
) reconcile.Outcome {
	var outcome reconcile.Outcome
	var left []sharedv1alpha1.RefusedDeletion
	r.replays.keep(p.id, p.UsageStatus().Refused)
	for _, refused := range p.UsageStatus().Refused {
		if r.replays.done(p.id, &refused) {
			continue
		}
		due, result := carryOut(&refused)
		if due && result.IsDone() {
			r.replays.did(p.id, &refused)
		}
		if !due || !result.IsDone() {
			left = append(left, refused)
		}
		outcome = outcome.And(result)
	}
	p.UsageStatus().Refused = left
	return outcome
}

// replayOne carries out a deletion that was refused, now that nothing uses the
// object any more. It does no more than the one who asked may do now, to the very
// object he asked it for.
func (r *reconciler) replayOne(
	ctx context.Context, p *pass, refused *sharedv1alpha1.RefusedDeletion,
) reconcile.Outcome {
	if !r.ledger.trusting || r.clock.Since(refused.Time.Time) > r.options.ReplayExpiry {
		return reconcile.Outcome{} // Where admission asks nobody, anybody could have written it.
	}
	id := identifyBound(&refused.Target)
	mapping, err := r.watcher.Mapping(id.GroupKind().WithVersion(""))
	if err != nil { // If the kind is gone, so is the object.
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, unlessGone(err))
	}
	if obj, presence := r.lock.Get(id); presence == relation.Present {
		switch r.ledger.hold(obj) {
		case relation.Held:
			return r.handOver(ctx, refused, obj)
		case relation.Undecided: // Who may hold it need not be one that would take the record over.
			return reconcile.WaitFor(undecidedAgain, sharedv1alpha1.ReasonReleasing,
				"waiting to know whether %s is in use by others", id)
		case relation.Free:
		}
	}
	if system(refused.User) {
		if doomed, err := r.doomed(ctx, mapping, refused); err != nil || !doomed {
			return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
		}
	}
	allowed, err := r.reviewer.Allowed(ctx,
		authenticationv1.UserInfo{Username: refused.User, Groups: refused.Groups}, authorise.Action{
			Verb: "delete", Group: id.Group, Resource: mapping.Resource.Resource, Namespace: id.Namespace, Name: id.Name,
		})
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	if !allowed {
		r.events.Eventf(p.usage, nil, "Warning", "ReplayForbidden", "Delete",
			"%s may not delete %s any more", refused.User, id)
		return reconcile.Outcome{}
	}
	var policy *metav1.DeletionPropagation
	if refused.PropagationPolicy != "" {
		policy = &refused.PropagationPolicy
	}
	err = r.metadata.Resource(mapping.Resource).Namespace(id.Namespace).Delete(ctx, id.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &refused.Target.UID},
		PropagationPolicy: policy,
	})
	return r.replayed(p, refused, err)
}

// doomed reports whether Kubernetes would delete an object by itself now: its
// namespace is being deleted, or all of its owners are gone or on their way. That
// a controller of Kubernetes asked is what the webhook was told, by whoever
// reached it; this is what can be seen.
func (r *reconciler) doomed(
	ctx context.Context, mapping watch.Mapping, refused *sharedv1alpha1.RefusedDeletion,
) (bool, error) {
	id := identifyBound(&refused.Target)
	if r.namespaceEnds(ctx, relation.Named(id)) {
		return true, nil
	}
	obj, err := r.metadata.Resource(mapping.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return false, unlessGone(fmt.Errorf("read %s: %w", id, err))
	}
	owners := obj.GetOwnerReferences()
	for _, o := range owners {
		alive, err := r.alive(ctx, id.Namespace, o)
		if err != nil || alive {
			return false, err
		}
	}
	return len(owners) > 0, nil
}

// alive reports whether an owner exists and is not being deleted.
func (r *reconciler) alive(ctx context.Context, namespace string, o metav1.OwnerReference) (bool, error) {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	mapping, err := r.watcher.Mapping(gvk.GroupKind().WithVersion(""))
	if err != nil {
		return false, unlessGone(err)
	}
	owner := object.ID{Group: gvk.Group, Kind: gvk.Kind, Name: o.Name}
	if mapping.Namespaced {
		owner.Namespace = namespace
	}
	live, err := r.watcher.Live(ctx, owner)
	if err != nil {
		return false, unlessGone(err)
	}
	return live.UID == o.UID && !live.Deleting, nil
}

// replayed judges the answer to a replayed deletion. What is refused for good is
// told and left; what we refuse ourselves is tried again, as somebody else came to
// use the object who will have to take it over; what nobody could judge is tried
// again until its time is over.
func (r *reconciler) replayed(p *pass, refused *sharedv1alpha1.RefusedDeletion, err error) reconcile.Outcome {
	id := identifyBound(&refused.Target)
	switch {
	case err == nil:
		r.events.Eventf(p.usage, nil, "Normal", "ReplayDeletion", "Delete",
			"deleted %s, as %s had asked", id, refused.User)
	case gone(err):
	case apierrors.HasStatusCause(err, guard.CauseInUse):
		return reconcile.WaitFor(reconcile.ConflictRetry, sharedv1alpha1.ReasonReleasing, "%s is in use again", id)
	case reconcile.IsDenied(err), apierrors.IsConflict(err): // Another one is not what was asked for.
		r.events.Eventf(p.usage, nil, "Warning", "ReplayRefused", "Delete", "deletion of %s was refused: %s", id, err)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("replay deletion of %s: %w", id, err))
	}
	return reconcile.Outcome{}
}

// handOver passes a refused deletion on to another Usage that still holds the
// object, so that it is not forgotten with this one.
func (r *reconciler) handOver(
	ctx context.Context, refused *sharedv1alpha1.RefusedDeletion, obj relation.Object,
) reconcile.Outcome {
	for _, e := range r.ledger.Holding(obj) {
		heir := r.get(e.Declarer)
		if heir == nil || e.Content != nil || !records(heir, refused.User) {
			continue
		}
		if slices.ContainsFunc(heir.UsageStatus().Refused, func(own sharedv1alpha1.RefusedDeletion) bool {
			return own.Target.UID == refused.Target.UID
		}) {
			return reconcile.Outcome{}
		}
		after := heir.DeepCopyObject().(usage)
		if !fit(after.UsageStatus(), *refused) {
			continue
		}
		err := r.client.Status().Patch(ctx, after, client.MergeFromWithOptions(heir, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // Look again who holds the object.
			return reconcile.WaitFor(reconcile.ConflictRetry, sharedv1alpha1.ReasonReleasing, "%s has just changed", e.Declarer)
		}
		if err != nil {
			return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("hand a replay over to %s: %w", e.Declarer, err))
		}
		return reconcile.Outcome{}
	}
	return reconcile.Outcome{}
}
