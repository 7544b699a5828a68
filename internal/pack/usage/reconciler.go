package usage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// reconciler carries one Usage through its life. It only runs in the leader.
type reconciler struct {
	client   client.Client // reads from the cache
	metadata metadata.Interface
	watcher  *relation.Watcher
	ledger   *ledger
	lock     *guard.Lock
	asked    asker
	reviewer *authorise.Reviewer
	events   events.EventRecorder
	endings  *endings
	clock    clock.PassiveClock
	options  Options
	metrics  *metrics
	get      func(object.ID) usage // from the cache, nil if there is none
	writes   reconcile.Writes
	replays  replays
	ends     ends
}

// asker confirms that the API server asks before it deletes a locked object.
type asker interface {
	Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome
	// Confirmed reports whether Confirm was done for the kind of an object.
	Confirmed(obj relation.Object) bool
}

// pass is what one reconciliation knows and changes.
type pass struct {
	usage
	id   object.ID
	seen usage // as read, to find what changed
	over bool  // it was just deleted: its deletion wakes us, and its status tells nobody anything
}

// step is one part of a pass.
type step = reconcile.Step[*pass]

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	kind, ok := kindOf(id.GroupKind())
	if !ok {
		return ctrl.Result{}, nil
	}
	u := kind.new()
	if err := r.client.Get(ctx, id.NamespacedName(), u); err != nil {
		if apierrors.IsNotFound(err) {
			r.writes.Forget(id)
			r.replays.forget(id)
			r.ends.forget(id)
			r.ledger.declare(id) // There may be another one by now.
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s: %w", id, err)
	}
	if r.writes.Unseen(id, u.GetResourceVersion()) || r.ends.isFreed(id, u.GetUID()) {
		return ctrl.Result{}, nil // The watch brings what we wrote, and us back with it.
	}
	restore(u)
	p := &pass{usage: u, id: id, seen: u.DeepCopyObject().(usage)}
	var outcome reconcile.Outcome
	if u.GetDeletionTimestamp() == nil {
		outcome = reconcile.Run(ctx, p, step{"disclaim", r.disclaim}, step{"check", r.check}, step{"resolve", r.resolve},
			step{"bind", r.bind}, step{"record", r.record}, step{"hold", r.hold}, step{"unstick", r.unstick}).
			And(r.replayFreed(ctx, p)).And(versions(p.usage, r.watcher))
	} else {
		outcome = reconcile.Run(ctx, p, step{"disclaim", r.disclaim}, step{"awaitUsing", r.awaitUsing},
			step{"release", r.release}, step{"replay", r.replay}, step{"finalise", r.finalise})
		if outcome.IsDone() {
			return ctrl.Result{}, nil
		}
	}
	if p.over {
		return ctrl.Result{}, nil
	}
	return r.report(ctx, p, outcome)
}

// report writes the status, if it says anything new, and answers the queue.
func (r *reconciler) report(ctx context.Context, p *pass, outcome reconcile.Outcome) (ctrl.Result, error) {
	if err := r.writeStatus(ctx, p, outcome); err != nil {
		outcome = outcome.And(reconcile.Fail(sharedv1alpha1.ReasonFailed, err))
	}
	result, err := outcome.Result()
	if apierrors.IsConflict(err) {
		// Somebody wrote first. A back-off made for failures would cost a second.
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	return result, err
}

func (r *reconciler) writeStatus(ctx context.Context, p *pass, outcome reconcile.Outcome) error {
	status, generation := p.UsageStatus(), p.GetGeneration()
	status.ObservedGeneration = generation
	effective := outcome
	if r.effective(p) {
		effective = reconcile.Outcome{}
	} else if outcome.IsDone() {
		effective = reconcile.Progress(sharedv1alpha1.ReasonLocking, "putting the lock on")
	}
	condition.Set(&status.Conditions,
		condition.Of(sharedv1alpha1.ConditionReady, outcome,
			condition.Done{Reason: sharedv1alpha1.ReasonAvailable, Message: describe(p.usage)}, generation),
		condition.Of(sharedv1alpha1.ConditionEffective, effective,
			condition.Done{Reason: sharedv1alpha1.ReasonLocked, Message: "Deletion is refused."}, generation))
	if equality.Semantic.DeepEqual(p.seen.UsageStatus(), status) {
		return nil
	}
	before := p.DeepCopyObject().(usage)
	*before.UsageStatus() = *p.seen.UsageStatus()
	patch := client.MergeFrom(before)
	if !equality.Semantic.DeepEqual(before.UsageStatus().Refused, status.Refused) {
		// The webhook may have added to the list meanwhile, which a patch writes whole.
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	if err := r.client.Status().Patch(ctx, p.usage, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status of %s: %w", p.id, err))
	}
	r.writes.Wrote(p.id, p.GetResourceVersion())
	r.replays.keep(p.id, status.Refused)
	r.announce(p)
	return nil
}

// effective reports whether the lock is on everything that the Usage protects,
// and is known to work. That can be so although the Usage is not Ready, when it
// is part of a ring, or being deleted but still needed.
func (r *reconciler) effective(p *pass) bool {
	protects := false
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content != nil {
			continue
		}
		targets := r.ledger.Members(e.Target)
		if len(targets) == 0 || r.ledger.Of(e) != relation.Held {
			return false
		}
		for _, id := range targets {
			obj, presence := r.lock.Get(id)
			if presence != relation.Present || !r.lock.On(obj) || !r.asked.Confirmed(obj) {
				return false
			}
		}
		protects = true
	}
	return protects
}

// announce tells people about a change of the Ready condition. A Usage that is
// Ready at once needs no event: one for each of ten thousand would cost as much
// as the locks.
func (r *reconciler) announce(p *pass) {
	now := ready(p.UsageStatus())
	before := ready(p.seen.UsageStatus())
	if before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	switch {
	case now.Status == metav1.ConditionTrue && before == nil:
	case now.Status == metav1.ConditionTrue:
		r.events.Eventf(p.usage, r.reference(p), "Normal", "UsageConfigured", "Protect", "%s", now.Message)
	case now.Reason == sharedv1alpha1.ReasonWaitingUsingDeleted:
		r.events.Eventf(p.usage, r.reference(p), "Normal", now.Reason, "Wait", "%s", now.Message)
	case now.Reason == sharedv1alpha1.ReasonInvalid, now.Reason == sharedv1alpha1.ReasonCycle,
		now.Reason == sharedv1alpha1.ReasonNotGranted:
		r.events.Eventf(p.usage, r.reference(p), "Warning", now.Reason, "Protect", "%s", now.Message)
	}
}

func ready(status *sharedv1alpha1.UsageStatus) *metav1.Condition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == sharedv1alpha1.ConditionReady {
			return &status.Conditions[i]
		}
	}
	return nil
}
