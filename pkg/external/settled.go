package external

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// unsettled is a value of memory.tried that equals no Refs.Fingerprint: the next pass does not end early.
const unsettled = "\n"

// endIfSettled ends the pass if nothing changed since the last pass (isSettled), unless another object
// changed the resource (record.altered) or a user requests a comparison ([LookNow]).
func (r *reconciler[K, R]) endIfSettled(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	p.altered = p.record.popAlteration()
	look, later := p.record.popLook(r.engine.Clock.Now())
	if look {
		p.altered = r.engine.Clock.Now()
	}
	if p.altered.IsZero() && r.isSettled(p) {
		p.settled = true
		if !later.IsZero() {
			p.record.next = later
		}
		return reconcile.Outcome{}
	}
	p.record.tried = p.Refs.Fingerprint()
	return reconcile.Outcome{}
}

// isSettled reports whether nothing changed since the last pass.
func (r *reconciler[K, R]) isSettled(p *pass[K, R]) bool {
	last := lastPass{
		progressing: meta.FindStatusCondition(p.status().Conditions, condition.Progressing),
		available:   meta.FindStatusCondition(p.status().Conditions, condition.Available),
		sameRefs:    p.record.tried == p.Refs.Fingerprint(),
		sameUse:     slices.Equal(p.used(), p.status().ObservedDependencies),
	}
	switch last.decide(p.Object.GetGeneration()) {
	case refusedBefore:
		p.record.next = time.Time{} // A refused object is not compared either.
		return true
	case servedBefore:
		return !r.isDue(p)
	default:
		return false
	}
}

// lastPass lists the facts that the last pass over an object left in the status and in memory.tried.
type lastPass struct {
	progressing, available *metav1.Condition // nil if there was none
	// sameRefs says that the Refs.Fingerprint is unchanged. sameUse says that status.observedDependencies
	// equals the values of the references.
	sameRefs, sameUse bool
}

// settledness says whether a pass has work to do.
type settledness int

const (
	// unsettledBefore means that the last pass over this metadata.generation is not done.
	unsettledBefore settledness = iota
	// refusedBefore means that the spec or a reference has to change first.
	refusedBefore
	// servedBefore means that the resource served, and is not read before memory.next.
	servedBefore
)

// decide decides whether a pass over a metadata.generation of the object has work to do.
func (l lastPass) decide(generation int64) settledness {
	switch c := l.progressing; {
	case c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != generation:
		return unsettledBefore
	case c.Reason != condition.ReasonSuccess && l.sameRefs:
		return refusedBefore
	case c.Reason != condition.ReasonSuccess:
		return unsettledBefore
	case l.available == nil || l.available.ObservedGeneration != generation || !l.sameUse:
		return unsettledBefore
	default:
		return servedBefore
	}
}

// period returns spec.resyncPeriod or [Options.Resync]: how often the resource is compared with the spec.
// Zero means never.
func (r *reconciler[K, R]) period(p *pass[K, R]) time.Duration {
	if own := p.Object.GetExternalSpec().ResyncPeriod; own != nil {
		return own.Duration
	}
	return max(r.engine.Resync, 0)
}

// schedule sets memory.next, the time of the next comparison of the resource with the spec. wait.Jitter
// spreads the comparisons of objects that were created together.
func (r *reconciler[K, R]) schedule(p *pass[K, R]) {
	p.record.next = time.Time{}
	if period := r.period(p); period > 0 {
		p.record.next = r.engine.Clock.Now().Add(wait.Jitter(period, 0.2))
	}
}

// isDue reports whether the resource is to be compared now. After a restart, wait.Jitter spreads the
// comparisons of objects without spec.resyncPeriod over a whole period.
func (r *reconciler[K, R]) isDue(p *pass[K, R]) bool {
	period := r.period(p)
	if period <= 0 {
		return false
	}
	now := r.engine.Clock.Now()
	if p.record.next.IsZero() {
		p.record.next = now.Add(wait.Jitter(period, 1) - period)
		if last := p.status().LastSyncTime; last != nil && p.Object.GetExternalSpec().ResyncPeriod != nil {
			p.record.next = last.Add(period)
		}
	}
	return !now.Before(p.record.next)
}
