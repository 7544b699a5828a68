package external

import (
	"context"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

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
