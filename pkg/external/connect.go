package external

import (
	"context"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// connect calls [Kind.Connect] if the object has a turn.
func (r *reconciler[K, R]) connect(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if o := r.enter(ctx, p); !o.IsDone() {
		return o
	}
	access, err := r.kind.Connect(ctx, p.Input)
	p.actuator, p.scope, p.place, p.cloud = access.Actuator, access.Scope, access.Place, access.Cloud
	return r.failed(p, err)
}

// enter requests a turn at [Kind.Site] by turns.request. Without a turn the pass ends (pass.parked).
func (r *reconciler[K, R]) enter(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.kind.Site != nil {
		site, err := r.kind.Site(ctx, p.Input)
		if err != nil {
			return r.failed(p, err)
		}
		p.site = site
	}
	ok, open := r.turns.request(p.id, p.site)
	if ok {
		p.entered = true
		return reconcile.Outcome{}
	}
	p.parked, p.record.tried = true, unsettled
	if !p.altered.IsZero() { // The next pass must not find the object settled.
		p.record.noteAlteration(p.altered)
	}
	if open != nil {
		p.unanswered = true
		return open.outcome(r.engine.Cloud)
	}
	return reconcile.Wait(condition.ReasonProgressing, "Waiting for a turn")
}

// exit calls turns.leave with pass.verdict if the pass has a turn.
func (r *reconciler[K, R]) exit(p *pass[K, R]) {
	if p.entered {
		r.turns.leave(p.id, p.site, p.verdict)
	}
}
