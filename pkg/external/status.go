package external

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// conclude writes the status, if it changed, and says when to look again.
func (r *reconciler[K, R]) conclude(
	ctx context.Context, p *pass[K, R], outcome reconcile.Outcome,
) (ctrl.Result, error) {
	waiting := r.memories.waits(p.Object.GetUID(), p.waits)
	if p.done {
		return result(outcome)
	}
	if p.settled {
		return r.settled(ctx, p)
	}
	if p.parked {
		return r.putAside(ctx, p, outcome)
	}
	if pause := r.untilTold(p, waiting); pause > 0 {
		return ctrl.Result{RequeueAfter: pause}, nil
	}
	if err := r.report(ctx, p, outcome); err != nil {
		outcome = outcome.And(reconcile.Fail(condition.ReasonTransientError, err))
		if !p.altered.IsZero() { // The next pass must not find the object settled.
			r.engine.alterations.note(p.id, p.altered)
		}
		return result(outcome) // What nobody was told is done again, final or not.
	}
	if outcome.IsDone() {
		return ctrl.Result{RequeueAfter: r.until(p)}, nil
	}
	if outcome.Worst().State == reconcile.Invalid {
		return ctrl.Result{}, nil
	}
	return result(outcome)
}

// putAside ends a pass without a turn: turns.go wakes the object when it has one. The status
// only tells that the place does not answer.
func (r *reconciler[K, R]) putAside(
	ctx context.Context, p *pass[K, R], outcome reconcile.Outcome,
) (ctrl.Result, error) {
	if !p.unanswered {
		return ctrl.Result{}, nil
	}
	if err := r.report(ctx, p, outcome); err != nil {
		return result(reconcile.Fail(condition.ReasonTransientError, err))
	}
	return ctrl.Result{}, nil
}

// settled ends a pass that had nothing to do. Its conditions may be those of an earlier
// release, of another operator of the same API, or of other options.
func (r *reconciler[K, R]) settled(ctx context.Context, p *pass[K, R]) (ctrl.Result, error) {
	if r.conditions().Amend(&p.status().Conditions, p.status().Drift) {
		if err := r.writeStatus(ctx, p); err != nil {
			return result(reconcile.Fail(condition.ReasonTransientError, err))
		}
	}
	return ctrl.Result{RequeueAfter: r.until(p)}, nil
}

// conditions returns the vocabulary of the pack's conditions.
func (r *reconciler[K, R]) conditions() condition.External {
	return condition.External{Noun: r.engine.Noun, Summary: r.engine.Summary}
}

// report writes the conditions of a pass into the status and the status to the API
// server.
func (r *reconciler[K, R]) report(ctx context.Context, p *pass[K, R], outcome reconcile.Outcome) error {
	status := p.status()
	r.conditions().Set(&status.Conditions, condition.Pass{
		Outcome: outcome, Sight: p.sight, Exists: idOf(p.Object) != "", Drift: status.Drift,
		Deleting: p.Object.GetDeletionTimestamp() != nil, Generation: p.Object.GetGeneration(),
	})
	// The time alone is worth a write only to an object that has a period of its own.
	periodic := p.Object.GetExternalSpec().ResyncPeriod != nil
	if outcome.IsDone() && (periodic || !equality.Semantic.DeepEqual(p.before, p.Object)) {
		now := metav1.NewTime(r.engine.Clock.Now().Truncate(time.Second))
		status.LastSyncTime = &now
	}
	return r.writeStatus(ctx, p)
}

// How long a status tells of the same waits although there are others by now: they end one
// after the other, and each would cost a write.
const (
	retold = time.Second
	// retoldEach is what each object of the kind that waits adds, where that is more, up to
	// retoldMost: ten writes a second are enough for all of a kind together.
	retoldEach = 100 * time.Millisecond
	retoldMost = 30 * time.Second
)

// untilTold returns how long to put off telling what is still waited for, when so many
// objects wait. That anything is waited for at all is told at once.
func (r *reconciler[K, R]) untilTold(p *pass[K, R], waiting int) time.Duration {
	now := r.engine.Clock.Now()
	c := meta.FindStatusCondition(p.before.GetExternalStatus().Conditions, condition.Progressing)
	tells := c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == p.Object.GetGeneration()
	due := p.memory.told.Add(max(retold, min(time.Duration(waiting)*retoldEach, retoldMost)))
	if p.waits && tells && now.Before(due) {
		return due.Sub(now)
	}
	return 0
}

// until returns how long it is to the next comparison; zero means that there is
// none.
func (r *reconciler[K, R]) until(p *pass[K, R]) time.Duration {
	if p.memory.next.IsZero() || p.Object.GetDeletionTimestamp() != nil {
		return 0
	}
	return max(p.memory.next.Sub(r.engine.Clock.Now()), time.Millisecond)
}

// writeStatus writes what differs from what was read or written last. It carries
// the uid, so that no other object of the name is changed, and no version: an edit
// of the spec at the same moment must not cost us an id.
func (r *reconciler[K, R]) writeStatus(ctx context.Context, p *pass[K, R]) error {
	if equality.Semantic.DeepEqual(p.before, p.Object) {
		return nil
	}
	before := p.before.DeepCopyObject().(K)
	before.SetFinalizers(p.Object.GetFinalizers())
	before.SetAnnotations(p.Object.GetAnnotations())
	text, err := client.MergeFrom(before).Data(p.Object)
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if string(text) == "{}" {
		return nil
	}
	if text, err = withUID(text, p.Object.GetUID()); err != nil {
		return err
	}
	written := p.Object.DeepCopyObject().(K)
	err = r.engine.Live.Status().Patch(ctx, written, client.RawPatch(types.MergePatchType, text),
		client.FieldOwner(r.finalizer+"controller/status"))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone, or another one: the watch tells.
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.writes.Wrote(p.id, written.GetResourceVersion())
	p.memory.told = time.Time{}
	if p.waits {
		p.memory.told = r.engine.Clock.Now()
	}
	p.before = p.Object.DeepCopyObject().(K)
	return nil
}

func withUID(patch []byte, uid types.UID) ([]byte, error) {
	var content map[string]any
	if err := json.Unmarshal(patch, &content); err != nil {
		return nil, fmt.Errorf("write status: %w", err)
	}
	content["metadata"] = map[string]any{"uid": uid}
	patch, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write status: %w", err)
	}
	return patch, nil
}
