package external

import (
	"context"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observeResource writes the resource into the status ([Kind.Observe]), and polls until the resource
// serves.
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

// observe calls [Kind.Observe] and sets pass.sight.
func (r *reconciler[K, R]) observe(p *pass[K, R], resource R) reconcile.Outcome {
	serving := r.kind.Observe(p.Object, resource)
	p.sight = condition.Lacking
	if serving.IsDone() {
		p.sight = condition.Serving
	}
	return serving
}

// maxDrift bounds the length of status.drift.
const maxDrift = 32

// recordDrift writes into status.drift the fields that differ and that no request can change
// ([Kind.Drifts]). A change of status.drift emits an event.
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

// poll requeues the object for another look (polls.plan): soon at first, then less often. A pass that an
// event causes earlier does not count as a look.
func (r *reconciler[K, R]) poll(p *pass[K, R], format string, args ...any) reconcile.Outcome {
	return r.pollFor(p, condition.ReasonProgressing, format, args...)
}

// pollFor is like reconciler.poll, with another condition reason.
func (r *reconciler[K, R]) pollFor(p *pass[K, R], reason, format string, args ...any) reconcile.Outcome {
	polls, now := &p.record.polls, r.engine.Clock.Now()
	polls.plan(now, time.Time{})
	return reconcile.WaitFor(polls.next.Sub(now), reason, format, args...)
}

// polls counts the looks (polls.done) and has the time of the next look (polls.next).
type polls struct {
	done int
	next time.Time
}

// plan sets polls.next if the last planned look is due. The pause doubles each time, from 500 ms to 15 s.
// A non-zero latest bounds polls.next.
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
