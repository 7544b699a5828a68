package external

import (
	"context"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observeResource writes the resource into the status, and waits until the resource serves.
func (r *reconciler[K, R]) observeResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	serving := r.observe(p, p.resource)
	r.recordDrift(p)
	if r.kind.Compose != nil && p.managed() {
		serving = serving.And(r.kind.Compose(ctx, p.Input))
	}
	switch {
	case serving.IsDone():
		p.record.polls = polls{}
		p.status().ObservedDependencies = p.used()
		if r.altered(p) {
			r.alter(p)
		}
		r.schedule(p)
		return serving
	case serving.Worst().State == reconcile.Invalid:
		return serving
	default:
		return serving.And(r.poll(p, "Waiting for %s to be ready", r.engine.Noun))
	}
}

// observe writes a resource into the status.
func (r *reconciler[K, R]) observe(p *pass[K, R], resource R) reconcile.Outcome {
	serving := r.kind.Observe(p.Object, resource)
	p.sight = condition.Lacking
	if serving.IsDone() {
		p.sight = condition.Serving
	}
	return serving
}

// maxDrift bounds the list of fields in status.drift.
const maxDrift = 32

// recordDrift writes into the status which fields differ that can't be changed, and emits an
// event when others differ than before.
func (r *reconciler[K, R]) recordDrift(p *pass[K, R]) {
	var drift []string
	if r.kind.Drifts != nil && p.managed() {
		drift = r.kind.Drifts(p.Input, p.resource)
	}
	drift = drift[:min(len(drift), maxDrift)]
	status := p.status()
	if len(drift) > 0 && !slices.Equal(status.Drift, drift) {
		r.engine.event(p.Object, "Warning", condition.Drifted, "Compare", "%s",
			condition.DriftMessage(r.engine.Noun, drift))
	}
	status.Drift = drift
}

// poll has the object requeued for another look: soon at first, then less often. A pass that an
// event causes in between does not count as a look.
func (r *reconciler[K, R]) poll(p *pass[K, R], format string, args ...any) reconcile.Outcome {
	return r.pollFor(p, condition.ReasonProgressing, format, args...)
}

// pollFor is poll with a reason of its own.
func (r *reconciler[K, R]) pollFor(p *pass[K, R], reason, format string, args ...any) reconcile.Outcome {
	polls, now := &p.record.polls, r.engine.Clock.Now()
	polls.plan(now, time.Time{})
	return reconcile.WaitFor(polls.next.Sub(now), reason, format, args...)
}

// polls are planned looks: how many there were, and when the next one is.
type polls struct {
	done int
	next time.Time
}

// plan plans the next look if the last planned look is due: after a pause that doubles each time,
// and not later than latest unless that is zero.
func (o *polls) plan(now, latest time.Time) {
	const first, last = 500 * time.Millisecond, 15 * time.Second
	if now.Before(o.next) {
		return
	}
	o.next = now.Add(min(first<<min(o.done, 8), last))
	o.done++
	if !latest.IsZero() && o.next.After(latest) {
		o.next = latest
	}
}
