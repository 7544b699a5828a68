package external

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// completeResource calls [Completer.Complete] for the fields that the answer lacks. If a target with
// relation.Later was missing (pass.late), completeResource waits for the target.
func (r *reconciler[K, R]) completeResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if completer, ok := p.actuator.(Completer[R]); ok {
		whole, err := completer.Complete(ctx, p.resource)
		if err != nil {
			return r.failed(p, err)
		}
		p.resource = whole
	}
	if !p.late {
		return reconcile.Outcome{}
	}
	o := r.resolve(p, true)
	if !o.IsDone() {
		r.observe(p, p.resource)
		p.sight = condition.Lacking
	}
	return o
}

// correctResource calls [Actuator.Update] for the fields of the resource that differ from the spec
// ([Kind.Differs]).
func (r *reconciler[K, R]) correctResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !p.managed() {
		return reconcile.Outcome{}
	}
	if o := r.awaitUpdate(ctx, p); !o.IsDone() {
		return o
	}
	fields := r.kind.Differs(p.Input, p.resource)
	if len(fields) == 0 {
		r.engine.records.endCompletion(p.record)
		return reconcile.Outcome{}
	}
	fresh := idOf(p.before) != idOf(p.Object)
	if fresh { // The id must not be lost, whatever comes of the update.
		r.observeIncomplete(p, p.resource, fields)
		if err := r.report(ctx, p, reconcile.Progress(condition.ReasonProgressing, refreshes)); err != nil {
			return reconcile.Fail(condition.ReasonTransientError, err)
		}
	}
	if o := r.awaitChange(p); !o.IsDone() {
		r.observeIncomplete(p, p.resource, fields)
		return o
	}
	p.use()
	updated, err := p.actuator.Update(ctx, p.Input, p.resource, fields)
	p.corrected = true
	r.observer.changed(p.scope)
	if err == nil || isClass(err, Pending) {
		err = cmp.Or(r.verify(updated, idOf(p.Object)), err)
	}
	if isClass(err, Pending) {
		r.observeIncomplete(p, updated, fields)
		return r.updateBegan(p, err)
	}
	if err != nil {
		r.observeIncomplete(p, p.resource, fields)
		return r.failed(p, err)
	}
	if !fresh {
		r.engine.event(p.Object, "Normal", "Updated", "Update", "corrected %s", strings.Join(fields, ", "))
	}
	p.resource = updated
	r.engine.records.endCompletion(p.record)
	return reconcile.Outcome{}
}

// observeIncomplete is like reconciler.observe, for a resource with fields to correct. A resource that
// never served does not become Available before the correction. A resource that served keeps
// Available=True, unless a field of [Kind.Vital] differs.
func (r *reconciler[K, R]) observeIncomplete(p *pass[K, R], resource R, fields []string) {
	r.observe(p, resource)
	before := p.before.GetExternalStatus()
	served := idOf(p.before) == idOf(p.Object) && meta.IsStatusConditionTrue(before.Conditions, condition.Available)
	vital := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(r.kind.Vital, f) })
	if !served || vital {
		p.sight = condition.Lacking
	}
}
