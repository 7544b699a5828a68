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

// conclude ends the object's turn (exit) and its reservation (endChange), writes the status if the status
// changed, and returns the reconcile.Outcome for the work queue.
func (r *reconciler[K, R]) conclude(ctx context.Context, p *pass[K, R], outcome reconcile.Outcome) reconcile.Outcome {
	r.exit(p)
	r.endChange(p, outcome)
	outcome = outcome.And(r.writeOwners(ctx, p))
	switch {
	case p.gone:
		return outcome
	case p.settled:
		return r.concludeSettled(ctx, p)
	case p.parked && !p.unanswered:
		return reconcile.Outcome{} // turns.go requeues the object when the object has a turn.
	case p.parked:
		// The status only reports the outage of turns.request.
		return reconcile.Fail(condition.ReasonTransientError, r.report(ctx, p, outcome))
	case outcome.IsSuperseded():
		return outcome.And(r.unreported(p, r.writeStatus(ctx, p)))
	}
	if pause := r.untilCollected(p); pause > 0 && outcome.Worst().State != reconcile.Failed {
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

// unreported returns the outcome of a pass whose status was not written. unreported restores
// record.altered, so that endIfSettled does not end the next pass.
func (r *reconciler[K, R]) unreported(p *pass[K, R], err error) reconcile.Outcome {
	if !p.altered.IsZero() {
		p.record.noteAlteration(p.altered)
	}
	return reconcile.Fail(condition.ReasonTransientError, err)
}

// concludeSettled ends a pass of a settled object. External.Amend corrects conditions that an earlier
// release, another operator of the same API, or an operator with other [Options] has written.
func (r *reconciler[K, R]) concludeSettled(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.conditions().Amend(&p.status().Conditions, p.status().Drift) {
		if err := r.writeStatus(ctx, p); err != nil {
			return reconcile.Fail(condition.ReasonTransientError, err)
		}
	}
	return reconcile.After(r.untilDue(p))
}

// conditions returns the vocabulary of the pack's conditions ([Options.Noun], [Options.Summary],
// [Options.Specific]).
func (r *reconciler[K, R]) conditions() condition.External {
	return condition.External{Noun: r.engine.Noun, Summary: r.engine.Summary, Specific: r.engine.Specific}
}

// report writes the conditions of an outcome to the API server.
func (r *reconciler[K, R]) report(ctx context.Context, p *pass[K, R], outcome reconcile.Outcome) error {
	r.describe(p, outcome)
	return r.writeStatus(ctx, p)
}

// describe sets status.conditions and status.lastSyncTime from an outcome.
func (r *reconciler[K, R]) describe(p *pass[K, R], outcome reconcile.Outcome) {
	status := p.status()
	r.conditions().Set(&status.Conditions, condition.Pass{
		Outcome: outcome, Sight: p.sight, Exists: idOf(p.Object) != "", Drift: status.Drift,
		Deleting: p.Object.GetDeletionTimestamp() != nil, Generation: p.Object.GetGeneration(),
	})
	// A new status.lastSyncTime alone is written only for an object with spec.resyncPeriod.
	periodic := p.Object.GetExternalSpec().ResyncPeriod != nil
	if outcome.IsDone() && (periodic || !equality.Semantic.DeepEqual(p.before, p.Object)) {
		now := metav1.NewTime(r.engine.Clock.Now().Truncate(time.Second))
		status.LastSyncTime = &now
	}
}

// report is a status, and whether the object waits for references (pass.waits). reconcile.Reports delays a
// status that only names other targets than before: the waits end one after the other, and each message
// would cost a write. The first status of a wait is written at once.
type report struct {
	Status *sharedv1alpha1.ExternalStatus
	Waits  bool
}

func (p *pass[K, R]) report() report { return report{p.status().DeepCopy(), p.waits} }

// recorded is like pass.report, for the status in pass.before.
func (p *pass[K, R]) recorded() report {
	return report{p.before.GetExternalStatus().DeepCopy(), p.waits}
}

// newReports returns the reconcile.Reports that delays the statuses of waiting objects: for 1 second, or
// for 200 ms per waiting object of the kind, up to 30 seconds. Five writes a second suffice for all
// waiting objects of a kind.
func newReports() *reconcile.Reports[report] {
	return &reconcile.Reports[report]{
		First: time.Second, Each: 200 * time.Millisecond, Most: 30 * time.Second,
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

// untilDue returns the time until memory.next; zero means that no comparison is planned.
func (r *reconciler[K, R]) untilDue(p *pass[K, R]) time.Duration {
	if p.record.next.IsZero() || p.Object.GetDeletionTimestamp() != nil {
		return 0
	}
	return max(p.record.next.Sub(r.engine.Clock.Now()), time.Millisecond)
}

// writeStatus writes the fields of the status that differ from pass.before. The write carries no
// resourceVersion, so that a simultaneous change of the spec does not lose a new status.id.
func (r *reconciler[K, R]) writeStatus(ctx context.Context, p *pass[K, R]) error {
	w := reconcile.Writer{
		Client: r.engine.Live, FieldOwner: r.finalizer + "controller/status", Writes: &r.writes, Brief: true,
	}
	wrote, err := w.Status(ctx, p.id, p.before, p.Object, false)
	if reconcile.IsSuperseded(err) {
		return nil // The watch reports the end of the object.
	}
	if err != nil || !wrote {
		return err
	}
	r.reports.Wrote(p.id, r.engine.Clock.Now(), p.recorded(), p.report())
	r.announce(p)
	p.before = p.Object.DeepCopyObject().(K)
	return nil
}
