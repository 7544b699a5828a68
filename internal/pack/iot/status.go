package iot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Types of conditions. Reconciling and Stalled are there only while they are true,
// as kstatus has it.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
)

const (
	// firstReport is how long progress may take until it is worth a write of its
	// own. Later ones follow at ten times the age of the one before.
	firstReport = 20 * time.Second
	reportRatio = 10
	// reportPause is how long each of those that progress adds where that is more: five
	// writes a second, on average, are enough for all of them together.
	reportPause = 200 * time.Millisecond
)

// setConditions writes an outcome as conditions, the same for all kinds.
func setConditions(list *[]metav1.Condition, outcome reconcile.Outcome, done condition.Done, generation int64) {
	ready := condition.Of(conditionReady, outcome, done, generation)
	condition.Set(list, ready)
	stalled := outcome.Worst().State == reconcile.Invalid
	present(list, ready, conditionReconciling, !outcome.IsDone() && !stalled)
	present(list, ready, conditionStalled, stalled)
}

// present has a condition that is there only while it is true. It says the same as
// Ready does.
func present(list *[]metav1.Condition, ready metav1.Condition, name string, is bool) {
	if !is {
		meta.RemoveStatusCondition(list, name)
		return
	}
	ready.Type, ready.Status = name, metav1.ConditionTrue
	condition.Set(list, ready)
}

// judge puts into the status how far the connector got.
func (p *pass) judge(outcome reconcile.Outcome) {
	p.Status.ObservedGeneration = p.Generation
	done := condition.Done{Reason: reasonAvailable, Message: fmt.Sprintf(
		"Everything that version %d is made of is available.", p.Spec.EffectiveVersion())}
	setConditions(&p.Status.Conditions, outcome, done, p.Generation)
}

// conclude writes the status and says when to look again.
func (r *reconciler) conclude(ctx context.Context, p *pass, outcome reconcile.Outcome) (ctrl.Result, error) {
	p.judge(outcome)
	if due := r.reports.putOff(p, r.clock.Now()); due > 0 {
		outcome = outcome.And(reconcile.WaitFor(due, reasonProgressing, "progress is reported now and then"))
	} else if err := r.writeStatus(ctx, p); err != nil && !apierrors.IsNotFound(err) {
		outcome = outcome.And(reconcile.Fail(reasonFailed, err))
	}
	result, err := outcome.Result()
	if p.recheck > 0 && (result.RequeueAfter == 0 || p.recheck < result.RequeueAfter) {
		result.RequeueAfter = p.recheck
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	return result, err
}

// writeStatus writes what differs from what was read or written last. It fails
// with NotFound when the connector is gone.
func (r *reconciler) writeStatus(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(&p.seen, &p.Status) {
		return nil
	}
	before := p.DeepCopy()
	before.Status = *p.seen.DeepCopy()
	// What was decided rests on what was read.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, p.IotConnector, patch, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("write status of %s: %w", p.id, err)
	}
	r.writes.Wrote(p.id, p.ResourceVersion)
	r.reports.wrote(p, r.clock.Now())
	p.seen = *p.Status.DeepCopy()
	return nil
}

// reports puts off writes that would tell of progress and of nothing else: each of
// many Deployments becomes available at a moment of its own. What is put off is known
// here until it is written, so that the next pass goes on from it; whoever knows nothing
// any more goes on from what is on record, and finds all there.
type reports struct {
	mu   sync.Mutex
	last map[object.ID]report // of those that progress
}

// report is when progress was last told, how long until it is told again, and what there
// is to tell.
type report struct {
	at              time.Time
	wait            time.Duration
	recorded, known *iotv1alpha1.IotConnectorStatus
}

// known returns the status that was put off, if it belongs to what is on record, or else
// the latter.
func (r *reports) known(p *pass) *iotv1alpha1.IotConnectorStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[p.id]
	if last.known != nil && equality.Semantic.DeepEqual(last.recorded, &p.seen) {
		return last.known.DeepCopy()
	}
	return p.seen.DeepCopy()
}

// putOff returns for how long to put off a write. Zero means to write now.
func (r *reports) putOff(p *pass, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[p.id]
	if equality.Semantic.DeepEqual(&p.seen, &p.Status) {
		r.tidy(p) // What was written may not have been answered.
		return 0
	}
	if !ok || !onlyProgress(&p.seen, &p.Status) {
		return 0
	}
	wait := max(last.wait, time.Duration(len(r.last))*reportPause)
	due := max(0, last.at.Add(wait).Sub(now))
	if due > 0 {
		last.recorded, last.known = p.seen.DeepCopy(), p.Status.DeepCopy()
		r.last[p.id] = last
	}
	return due
}

func (r *reports) wrote(p *pass, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[object.ID]report{}
	}
	wait := firstReport
	if last, ok := r.last[p.id]; ok && onlyProgress(&p.seen, &p.Status) {
		wait = max(wait, now.Sub(last.at)*reportRatio)
	}
	r.last[p.id] = report{at: now, wait: wait}
	r.tidy(p)
}

// tidy forgets what there is no more to tell of: nothing is put off, or does progress. The
// mutex must be held.
func (r *reports) tidy(p *pass) {
	last, ok := r.last[p.id]
	if !ok {
		return
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, conditionReconciling) {
		delete(r.last, p.id)
		return
	}
	last.recorded, last.known = nil, nil
	r.last[p.id] = last
}

func (r *reports) forget(id object.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, id)
}

// onlyProgress reports whether two states differ in nothing but how far something
// got that goes on.
func onlyProgress(before, after *iotv1alpha1.IotConnectorStatus) bool {
	return equality.Semantic.DeepEqual(coarse(before), coarse(after)) &&
		meta.IsStatusConditionTrue(after.Conditions, conditionReconciling)
}

// coarse leaves out of a status what changes with each step of progress.
func coarse(s *iotv1alpha1.IotConnectorStatus) *iotv1alpha1.IotConnectorStatus {
	c := s.DeepCopy()
	for i := range c.Inventory {
		one := &c.Inventory[i]
		one.Ready, one.UID, one.Hash, one.Mark = false, "", "", ""
	}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c
}
