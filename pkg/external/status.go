package external

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// conclude ends the object's turn and its reservation, writes the status if it changed, and returns what the work
// queue is told.
func (r *reconciler[K, R]) conclude(ctx context.Context, p *pass[K, R], outcome reconcile.Outcome) reconcile.Outcome {
	r.exit(p)
	r.endChange(p, outcome)
	switch {
	case p.gone:
		return outcome
	case p.settled:
		return r.concludeSettled(ctx, p)
	case p.parked && !p.unanswered:
		return reconcile.Outcome{} // turns.go requeues the object when the object has a turn.
	case p.parked:
		// The status only tells that the place does not answer.
		return reconcile.Fail(condition.ReasonTransientError, r.report(ctx, p, outcome))
	case outcome.IsSuperseded():
		return outcome.And(r.unreported(p, r.writeStatus(ctx, p)))
	}
	if pause := r.untilCollected(p); pause > 0 {
		return reconcile.After(pause)
	}
	r.describe(p, outcome)
	if pause := r.reports.Defer(p.id, r.engine.Clock.Now(), p.recorded(), p.report()); pause > 0 {
		return reconcile.After(pause)
	}
	if err := r.writeStatus(ctx, p); err != nil {
		return outcome.And(r.unreported(p, err)) // Repeated, even if the outcome is final.
	}
	switch {
	case outcome.IsDone():
		return reconcile.After(r.untilDue(p))
	case outcome.Worst().State == reconcile.Invalid:
		return reconcile.After(p.again)
	default:
		return outcome
	}
}

// unreported returns the outcome of a pass whose status is not written. The next pass must not
// find the object settled.
func (r *reconciler[K, R]) unreported(p *pass[K, R], err error) reconcile.Outcome {
	if !p.altered.IsZero() {
		r.engine.records.noteAlteration(p.record, p.altered)
	}
	return reconcile.Fail(condition.ReasonTransientError, err)
}

// concludeSettled ends a pass that had nothing to do. The conditions may be those of an earlier
// release, of another operator of the same API, or of other options.
func (r *reconciler[K, R]) concludeSettled(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.conditions().Amend(&p.status().Conditions, p.status().Drift) {
		if err := r.writeStatus(ctx, p); err != nil {
			return reconcile.Fail(condition.ReasonTransientError, err)
		}
	}
	return reconcile.After(r.untilDue(p))
}

// conditions returns the vocabulary of the pack's conditions.
func (r *reconciler[K, R]) conditions() condition.External {
	return condition.External{Noun: r.engine.Noun, Summary: r.engine.Summary, Specific: r.engine.Specific}
}

// report writes the conditions that follow from an outcome to the API server.
func (r *reconciler[K, R]) report(ctx context.Context, p *pass[K, R], outcome reconcile.Outcome) error {
	r.describe(p, outcome)
	return r.writeStatus(ctx, p)
}

// describe sets the conditions that follow from an outcome.
func (r *reconciler[K, R]) describe(p *pass[K, R], outcome reconcile.Outcome) {
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
}

// report is a status, and whether the object waits for references. A status that names other
// targets than before is written later: the waits end one after the other, and each would cost a
// write. That an object waits at all is written at once.
type report struct {
	Status *sharedv1alpha1.ExternalStatus
	Waits  bool
}

func (p *pass[K, R]) report() report { return report{p.status().DeepCopy(), p.waits} }

// recorded is report for the status that was read or last written.
func (p *pass[K, R]) recorded() report {
	return report{p.before.GetExternalStatus().DeepCopy(), p.waits}
}

// newReports returns what defers the statuses of waiting objects: for a second, or longer where
// many objects of the kind wait, since ten writes a second are enough for all of them.
func newReports() *reconcile.Reports[report] {
	return &reconcile.Reports[report]{
		First: time.Second, Each: 100 * time.Millisecond, Most: 30 * time.Second,
		IsProgressing: func(r report) bool { return r.Waits },
		Coarse: func(r report) report {
			status := r.Status.DeepCopy()
			for i := range status.Conditions {
				status.Conditions[i].Message = ""
			}
			return report{Status: status}
		},
	}
}

// untilDue returns how long it is to the next comparison; zero means that there is none.
func (r *reconciler[K, R]) untilDue(p *pass[K, R]) time.Duration {
	if p.record.next.IsZero() || p.Object.GetDeletionTimestamp() != nil {
		return 0
	}
	return max(p.record.next.Sub(r.engine.Clock.Now()), time.Millisecond)
}

// writeStatus writes the fields of the status that differ from what was read or last written. The
// write carries no resourceVersion: a change of the spec at the same moment must not cost an id.
func (r *reconciler[K, R]) writeStatus(ctx context.Context, p *pass[K, R]) error {
	w := reconcile.Writer{Client: r.engine.Live, FieldOwner: r.finalizer + "controller/status", Writes: &r.writes}
	written := p.Object.DeepCopyObject().(K) // The API server drops the id of an Anonymous object.
	wrote, err := w.Status(ctx, p.id, p.before, written, false)
	if reconcile.IsSuperseded(err) {
		return nil // The watch reports the end of the object.
	}
	if err != nil || !wrote {
		return err
	}
	r.reports.Wrote(p.id, r.engine.Clock.Now(), p.recorded(), p.report())
	p.before = p.Object.DeepCopyObject().(K)
	return nil
}
