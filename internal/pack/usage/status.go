package usage

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// conclude writes the status of a Usage. conclude replays refused deletions of objects that nothing
// holds any more first, whether the steps are done or not. The conditions stay as they were while the
// outcome is passing.
func (r *reconciler) conclude(ctx context.Context, p *pass, outcome reconcile.Outcome) reconcile.Outcome {
	ending := p.GetDeletionTimestamp() != nil
	if p.deleted || (ending && outcome.IsDone()) {
		return reconcile.Outcome{}
	}
	if !ending {
		outcome = outcome.And(r.replayFreed(ctx, p)).And(unservedVersions(p.usage, r.watcher))
	}
	if !outcome.IsPassing() {
		locked, err := r.isEffective(ctx, p)
		outcome = outcome.And(reconcile.Fail(sharedv1alpha1.ReasonFailed, err))
		setConditions(p.usage, outcome, locked)
	}
	// Webhooks add to status.refused, and a merge patch replaces the whole list.
	before, status := p.seen.UsageStatus(), p.UsageStatus()
	guarded := !equality.Semantic.DeepEqual(before.Refused, status.Refused)
	wrote, err := r.writer.Status(ctx, p.id, p.seen, p.usage, guarded)
	if client.IgnoreNotFound(err) != nil && !reconcile.IsAnother(err) {
		return outcome.And(reconcile.Fail(sharedv1alpha1.ReasonFailed, err))
	}
	if wrote {
		p.memory.prune(status.Refused)
		r.announce(p)
	}
	return outcome
}

// setConditions sets Ready and Effective. Effective can be True without Ready: in a ring, or
// while a deleted Usage waits for its using object.
func setConditions(u usage, outcome reconcile.Outcome, locked bool) {
	effective := outcome
	switch {
	case locked:
		effective = reconcile.Outcome{}
	case outcome.IsDone():
		effective = reconcile.Progress(sharedv1alpha1.ReasonLocking, "adding label %s", lockLabel)
	}
	status, generation := u.UsageStatus(), u.GetGeneration()
	status.ObservedGeneration = generation
	condition.Set(&status.Conditions,
		condition.Of(sharedv1alpha1.ConditionReady, outcome,
			condition.Done{Reason: sharedv1alpha1.ReasonAvailable, Message: describe(u)}, generation),
		condition.Of(sharedv1alpha1.ConditionEffective, effective,
			condition.Done{Reason: sharedv1alpha1.ReasonLocked, Message: "Deletion is refused."}, generation))
}

// isEffective reports whether every object that a Usage protects carries the lock, and whether the
// API server is known to refuse the deletion of such objects.
//
// isEffective calls Lock.Ensure instead of Lock.Get because the watch event of a correct lock
// starts no pass: the status would stay behind a lock that the lock controller adds a moment later.
func (r *reconciler) isEffective(ctx context.Context, p *pass) (bool, error) {
	protects := false
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content != nil {
			continue
		}
		open := []object.ID{e.Target.ID}
		if e.Target.Selector != nil {
			members, isEmpty, known := r.openMembers(e)
			if isEmpty || !known || len(members) > lockBatch {
				return false, nil
			}
			open = open[:0]
			for _, member := range members {
				open = append(open, member.ID)
			}
		}
		if r.ledger.Of(e) != relation.Held {
			return false, nil
		}
		for _, id := range open {
			obj, presence, err := r.lock.Ensure(ctx, id)
			if err != nil || presence != relation.Present || !r.lock.On(obj) || !r.rules.Confirmed(obj) {
				return false, err
			}
		}
		protects = true
	}
	return protects, nil
}

// announce records an event when the condition Ready changes. A Usage that is Ready at once gets
// no event: ten thousand events would cost as much as ten thousand locks.
func (r *reconciler) announce(p *pass) {
	now := readyCondition(p.usage)
	before := readyCondition(p.seen)
	if now == nil || before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	var used runtime.Object
	if ref := r.usedReference(p); ref != nil {
		used = ref
	}
	switch {
	case now.Status == metav1.ConditionTrue && before == nil:
	case now.Status == metav1.ConditionTrue:
		r.events.Eventf(p.usage, used, "Normal", "UsageConfigured", "Protect", "%s", now.Message)
	case now.Reason == sharedv1alpha1.ReasonWaitingUsingDeleted:
		r.events.Eventf(p.usage, used, "Normal", now.Reason, "Wait", "%s", now.Message)
	case now.Reason == sharedv1alpha1.ReasonInvalid, now.Reason == sharedv1alpha1.ReasonCycle,
		now.Reason == sharedv1alpha1.ReasonNotGranted:
		r.events.Eventf(p.usage, used, "Warning", now.Reason, "Protect", "%s", now.Message)
	}
}

func readyCondition(u usage) *metav1.Condition {
	return meta.FindStatusCondition(u.UsageStatus().Conditions, sharedv1alpha1.ConditionReady)
}

// changeStatus changes the status of a Usage outside of the Usage's own pass: other clients
// write the same status. After a conflict, changeStatus reads the Usage again.
func changeStatus(
	ctx context.Context, c client.Client, live client.Reader, u usage, change func(*sharedv1alpha1.UsageStatus),
) error {
	writer := reconcile.Writer{Client: c, Writes: &reconcile.Writes{}}
	before, conflicted := u.DeepCopyObject().(usage), false
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if conflicted {
			if err := live.Get(ctx, client.ObjectKeyFromObject(u), before); err != nil {
				return err
			}
		}
		conflicted = true
		after := before.DeepCopyObject().(usage)
		change(after.UsageStatus())
		_, err := writer.Status(ctx, identify(u), before, after, true)
		return err
	})
}
