package external

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// seen is what follows once the resource was read, or created.
func (r *reconciler[K, R]) seen(ctx context.Context, p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	p.verdict.answered = true
	id := r.kind.Identify(resource).ID
	p.status().ID, p.status().Place = &id, p.recordedPlace()
	if completer, ok := p.actuator.(Completer[R]); ok {
		if resource, err = completer.Complete(ctx, resource); err != nil {
			return r.failed(p, err)
		}
	}
	if p.late {
		if o := r.resolve(p, true); !o.IsDone() {
			r.observe(p, resource)
			p.sight = condition.Lacking
			return o
		}
	}
	if o := r.correct(ctx, p, &resource); !o.IsDone() {
		return o
	}
	serving := r.observe(p, resource)
	r.recordDrift(p, resource)
	if r.kind.Compose != nil && p.managed() {
		serving = serving.And(r.kind.Compose(ctx, p.Input))
	}
	if serving.IsDone() {
		p.memory.polls = polls{}
		p.status().ObservedDependencies = p.used()
		if r.altered(p) {
			r.alter(p)
		}
		r.schedule(p)
		return serving
	}
	if serving.Worst().State == reconcile.Invalid {
		return serving
	}
	return serving.And(r.poll(p, "Waiting for %s to be ready", r.engine.Noun))
}

// correct repairs what differs from the spec.
func (r *reconciler[K, R]) correct(ctx context.Context, p *pass[K, R], resource *R) reconcile.Outcome {
	if !p.managed() {
		return reconcile.Outcome{}
	}
	fields := r.kind.Differs(p.Input, *resource)
	if len(fields) == 0 {
		return reconcile.Outcome{}
	}
	fresh := idOf(p.before) != idOf(p.Object)
	if fresh { // The id must not be lost, whatever happens to the rest.
		r.observeIncomplete(p, *resource, fields)
		if err := r.report(ctx, p, reconcile.Progress(condition.ReasonProgressing, refreshes)); err != nil {
			return reconcile.Fail(condition.ReasonTransientError, err)
		}
	}
	p.use()
	updated, err := p.actuator.Update(ctx, p.Input, *resource, fields)
	p.corrected = true
	r.observer.changed(p.scope)
	if err == nil || isClass(err, Pending) {
		err = cmp.Or(r.verify(updated, idOf(p.Object)), err)
	}
	if isClass(err, Pending) {
		r.observeIncomplete(p, updated, fields)
		return r.poll(p, "%s", err)
	}
	if err != nil {
		r.observeIncomplete(p, *resource, fields)
		return r.failed(p, err)
	}
	if !fresh {
		r.engine.event(p.Object, "Normal", "Updated", "Update", "corrected %s", strings.Join(fields, ", "))
	}
	*resource = updated
	return reconcile.Outcome{}
}

// maxDrift bounds the list of fields in status.drift.
const maxDrift = 32

// recordDrift writes into the status which fields differ that can't be changed, and
// emits an event when others differ than before.
func (r *reconciler[K, R]) recordDrift(p *pass[K, R], resource R) {
	var drift []string
	if r.kind.Drifts != nil && p.managed() {
		drift = r.kind.Drifts(p.Input, resource)
	}
	drift = drift[:min(len(drift), maxDrift)]
	status := p.status()
	if len(drift) > 0 && !slices.Equal(status.Drift, drift) {
		r.engine.event(p.Object, "Warning", condition.Drifted, "Compare", "%s",
			condition.DriftMessage(r.engine.Noun, drift))
	}
	status.Drift = drift
}

// observe writes the resource into the status.
func (r *reconciler[K, R]) observe(p *pass[K, R], resource R) reconcile.Outcome {
	serving := r.kind.Observe(p.Object, resource)
	p.sight = condition.Lacking
	if serving.IsDone() {
		p.sight = condition.Serving
	}
	return serving
}

// observeIncomplete is observe where fields are still to be corrected. What has never
// served does not begin to before it is complete; what serves goes on, but for want of
// a vital field.
func (r *reconciler[K, R]) observeIncomplete(p *pass[K, R], resource R, fields []string) {
	r.observe(p, resource)
	before := p.before.GetExternalStatus()
	served := idOf(p.before) == idOf(p.Object) && meta.IsStatusConditionTrue(before.Conditions, condition.Available)
	vital := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(r.kind.Vital, f) })
	if !served || vital {
		p.sight = condition.Lacking
	}
}

// poll has the object looked at again: soon at first, then less often. A look that
// somebody else had it take in between is none of these.
func (r *reconciler[K, R]) poll(p *pass[K, R], format string, args ...any) reconcile.Outcome {
	polls, now := &p.memory.polls, r.engine.Clock.Now()
	polls.plan(now, time.Time{})
	return reconcile.WaitFor(polls.next.Sub(now), condition.ReasonProgressing, format, args...)
}

// plan plans the next look if that of before is due: after a pause that doubles each time, and not
// later than latest unless that is zero.
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

// period returns how often the resource is compared with the spec; zero is never.
func (r *reconciler[K, R]) period(p *pass[K, R]) time.Duration {
	if own := p.Object.GetExternalSpec().ResyncPeriod; own != nil {
		return own.Duration
	}
	return max(r.engine.Resync, 0)
}

// schedule plans the next comparison, with a little chance, so that those of many
// objects don't fall together.
func (r *reconciler[K, R]) schedule(p *pass[K, R]) {
	p.memory.next = time.Time{}
	if period := r.period(p); period > 0 {
		p.memory.next = r.engine.Clock.Now().Add(wait.Jitter(period, 0.2))
	}
}

// due reports whether it is time to compare. After a restart, what has no period
// of its own is spread over one.
func (r *reconciler[K, R]) due(p *pass[K, R]) bool {
	period := r.period(p)
	if period <= 0 {
		return false
	}
	now := r.engine.Clock.Now()
	if p.memory.next.IsZero() {
		p.memory.next = now.Add(wait.Jitter(period, 1) - period)
		if last := p.status().LastSyncTime; last != nil && p.Object.GetExternalSpec().ResyncPeriod != nil {
			p.memory.next = last.Add(period)
		}
	}
	return !now.Before(p.memory.next)
}

// event tells people what conditions don't.
func (e *Engine) event(obj runtime.Object, kind, reason, action, format string, args ...any) {
	if e.Events != nil {
		e.Events.Eventf(obj, nil, kind, reason, action, format, args...)
	}
}
