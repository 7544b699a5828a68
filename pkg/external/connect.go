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

// resolveReferences finds the targets of the references, and stores the waits in pass.missing. The step
// awaitReferences ends the pass if a target is missing or not ready. endIfSettled runs between the two
// steps, because a settled object waits for no target.
func (r *reconciler[K, R]) resolveReferences(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	p.missing = r.resolve(p, idOf(p.Object) != "")
	return reconcile.Outcome{}
}

// resolve finds the targets of the references, and returns an Outcome that names missing targets. For
// example, Subnet/a waits for Network/n. Once the resource exists, resolve skips targets with
// relation.Once. Targets with relation.Later are not waited for before the creation.
func (r *reconciler[K, R]) resolve(p *pass[K, R], exists bool) reconcile.Outcome {
	p.Refs = r.engine.core.Resolve(r.kind.GVK.GroupKind(), p.Object, exists)
	p.late = p.Refs.IsLate()
	return p.Refs.Waits()
}

// awaitReferences waits for targets that are missing or not ready. An object without status.id also waits
// until the resources of strays with the same object.ID are deleted, because names of resources may be
// unique.
func (r *reconciler[K, R]) awaitReferences(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	waiting := p.missing
	if idOf(p.Object) == "" && len(r.engine.records.straysOf(p.id)) > 0 {
		waiting = waiting.And(reconcile.Progress(condition.ReasonProgressing,
			"Waiting for what was made for another object of this name to be deleted"))
	}
	if waiting.IsDone() {
		return waiting
	}
	p.waits = true
	if p.late && idOf(p.Object) != "" {
		p.sight = condition.Lacking
	}
	return waiting
}
