package usage

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// ringAgain is how long a Usage waits before it looks again for a ring that may keep itself
// from going.
const ringAgain = 10 * time.Second

// awaitUsing keeps a deleted Usage for as long as its using object needs it.
//
// A composed Usage is deleted together with the object it waits for, so it waits
// without an end (seed 3, "Preventing early deletion"). Any other one waits while
// that object is being deleted, and a short while for such a deletion to arrive,
// which is how a bulk deletion keeps its order; then it goes, so that a person
// can lift a protection by deleting the Usage.
func (r *reconciler) awaitUsing(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	if len(edges) == 0 || edges[0].Source.IsZero() {
		return reconcile.Outcome{} // Released before, or never in force.
	}
	goes, unknown := r.ringGoes(ctx, edges[0])
	if goes {
		return reconcile.Outcome{}
	}
	source := edges[0].Source
	alive, deleting, outcome := r.using(ctx, edges[0])
	if !outcome.IsDone() && r.barred(p, source.GroupKind()) {
		return reconcile.Outcome{}
	}
	if !outcome.IsDone() || !alive {
		return outcome
	}
	switch {
	case !deleting && r.namespaceEnds(ctx, source):
		return r.hasten(ctx, source)
	case (composed(p.usage) || deleting) && unknown != nil: // It may wait for itself.
		return reconcile.WaitFor(ringAgain, sharedv1alpha1.ReasonWaitingUsingDeleted,
			"waiting for %s to be gone; %s", source, unknown)
	case composed(p.usage) || deleting:
		return reconcile.Wait(sharedv1alpha1.ReasonWaitingUsingDeleted, "waiting for %s to be gone", source)
	}
	return r.grace(p, source)
}

// grace waits a short while for the deletion of what uses the target to arrive.
func (r *reconciler) grace(p *pass, source relation.Ref) reconcile.Outcome {
	if left := r.options.GracePeriod - r.clock.Since(p.GetDeletionTimestamp().Time); left > 0 {
		return reconcile.WaitFor(left, sharedv1alpha1.ReasonWaitingUsingDeleted,
			"waiting up to %s for the deletion of %s to begin", r.options.GracePeriod, source)
	}
	return reconcile.Outcome{}
}

// using reports whether the using object is alive, and whether the object is being deleted.
// Without a watch event about the deletion, a live read confirms that the object is gone.
func (r *reconciler) using(ctx context.Context, e relation.Edge) (alive, deleting bool, _ reconcile.Outcome) {
	if e.Source.Selector != nil {
		members, known := r.watcher.List(e.Source)
		if !known {
			return false, false, r.reading(e.Source.GroupKind(), "spec.by")
		}
		for _, m := range members {
			deleting = deleting || m.Deleting
		}
		return len(members) > 0, deleting, reconcile.Outcome{}
	}
	obj, presence := r.watcher.Get(e.Source.ID)
	if presence == relation.Unknown {
		return false, false, r.reading(e.Source.GroupKind(), "spec.by")
	}
	if presence == relation.Present && (e.SourceUID == "" || obj.UID == e.SourceUID) {
		return true, obj.Deleting, reconcile.Outcome{}
	}
	if e.SourceUID == "" {
		return false, false, reconcile.Outcome{} // It was never bound to anything.
	}
	if r.ledger.hasEnded(e.Declarer, e.SourceUID) {
		return false, false, reconcile.Outcome{}
	}
	live, err := r.watcher.Live(ctx, e.Source.ID)
	switch {
	case err == nil && live.UID == e.SourceUID:
		return true, live.Deleting, reconcile.Outcome{}
	case err == nil || gone(err):
		return false, false, reconcile.Outcome{}
	default:
		return false, false, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
}

// ringGoes reports whether an edge is part of a ring all of whose Usages are
// being deleted: to wait for each other would be to wait for ever. The error says that
// this can't be told.
func (r *reconciler) ringGoes(ctx context.Context, e relation.Edge) (bool, error) {
	ring, err := r.ledger.Ring(ctx, e)
	if err != nil || ring == nil {
		return false, err
	}
	for _, id := range ring[:len(ring)-1] {
		if !r.allGoing(id, ring) {
			return false, nil
		}
	}
	return true, nil
}

// allGoing reports whether every Usage by which an object of a ring uses another
// one of it is being deleted.
func (r *reconciler) allGoing(id object.ID, ring []object.ID) bool {
	for _, e := range r.ledger.From(id) {
		within := slices.ContainsFunc(ring, func(other object.ID) bool { return r.ledger.Matches(e.Target, other) })
		u := r.get(e.Declarer)
		if within && u != nil && u.GetDeletionTimestamp() == nil {
			return false
		}
	}
	return true
}

// release takes the Usage out of force and the lock off whatever nobody else
// holds.
func (r *reconciler) release(ctx context.Context, p *pass) reconcile.Outcome {
	edges := r.ledger.Declared.Declared(p.id)
	r.ledger.release(p.usage)
	var outcome reconcile.Outcome
	for _, id := range r.locked(p, edges) {
		obj, presence, err := r.lock.Ensure(ctx, id)
		switch {
		case err != nil:
			outcome = outcome.And(reconcile.Fail(sharedv1alpha1.ReasonFailed, err))
		case presence == relation.Unknown && r.barred(p, id.GroupKind()): // Nobody knows of a lock.
		case presence == relation.Unknown && r.mayExist(id):
			outcome = outcome.And(r.reading(id.GroupKind(), "spec.of"))
		case presence == relation.Present && r.lock.Wrong(obj):
			// A write met another one. The finalizer stays until it succeeds.
			outcome = outcome.And(reconcile.WaitFor(reconcile.ConflictRetry, sharedv1alpha1.ReasonReleasing,
				"taking the lock off %s", id))
		}
	}
	return outcome
}

// barred reports whether the operator may not read a kind, and a Usage was not in force
// when it could last tell. Then there is nothing that it could wait for or undo.
func (r *reconciler) barred(p *pass, gk schema.GroupKind) bool {
	return apierrors.IsForbidden(r.watcher.Problem(gk)) &&
		!meta.IsStatusConditionTrue(p.seen.UsageStatus().Conditions, sharedv1alpha1.ConditionEffective)
}

// mayExist reports whether the cluster serves an object's kind, or can't tell. If it
// does not, there is no such object any more.
func (r *reconciler) mayExist(id object.ID) bool {
	_, err := r.watcher.Mapping(id.GroupKind().WithVersion(""))
	return err == nil || !gone(err)
}

// locked returns the objects that a Usage may have locked.
func (r *reconciler) locked(p *pass, edges []relation.Edge) []object.ID {
	var ids []object.ID
	if len(edges) == 0 { // A second pass, or a restart: the spec still tells.
		edges = extract(p.usage, r.watcher)
	}
	for _, e := range edges {
		if e.Target.Selector == nil {
			ids = append(ids, e.Target.ID)
			continue
		}
		for _, obj := range r.ledger.Marked(e.Target.GroupKind()) {
			ids = append(ids, obj.ID)
		}
	}
	return ids
}

// finalise lets the Usage go.
func (r *reconciler) finalise(ctx context.Context, p *pass) reconcile.Outcome {
	if !controllerutil.RemoveFinalizer(p.usage, finalizer) {
		return reconcile.Outcome{}
	}
	err := r.writeObject(ctx, p)
	if apierrors.IsNotFound(err) {
		return reconcile.Outcome{} // A pass before has let it go, and told so: the watch is late.
	}
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	r.ends.freed(p.id, p.GetUID())
	if bound := p.UsageStatus().Using; bound != nil {
		// Told here and not where the Usage is deleted: the garbage collector may have been quicker.
		obj, presence := r.watcher.Get(identifyBound(bound))
		if presence != relation.Unknown && obj.UID != bound.UID {
			r.tellEnded(p, bound)
		}
	}
	r.metrics.released(r.clock.Since(p.GetDeletionTimestamp().Time))
	return reconcile.Outcome{}
}
