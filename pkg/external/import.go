package external

import (
	"context"
	"slices"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// importResource finds the existing resource of spec.import or spec.adopt, by id or by filter.
func (r *reconciler[K, R]) importResource(ctx context.Context, p *pass[K, R], id string) reconcile.Outcome {
	if id != "" {
		resource, err := p.actuator.Get(ctx, p.Input, id)
		if isClass(err, Missing) {
			return reconcile.Refuse(condition.ReasonUnrecoverableError,
				"referenced resource does not exist in %s", r.engine.Cloud)
		}
		if err == nil {
			err = r.verifyImported(resource, id)
		}
		return r.useImported(ctx, p, resource, err)
	}
	found, err := r.importable(ctx, p)
	if err != nil {
		return r.failed(p, err)
	}
	// An incomplete resource may no longer match the filter after its completion.
	incomplete := slices.ContainsFunc(found, func(one R) bool { return r.completing(p, r.kind.Identify(one)) != "" })
	switch {
	case incomplete, len(found) == 0:
		return r.poll(p, "Waiting for %s to be created externally", r.engine.Noun)
	case len(found) > 1:
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"found more than one matching %s during import", r.engine.Noun)
	}
	resource, err := r.readWhole(ctx, p, found[0])
	return r.useImported(ctx, p, resource, err)
}

// importable returns the candidates for an import without an id: the resource at [Kind.Address], or the
// results of [Actuator.Find] with [Search.Imported].
func (r *reconciler[K, R]) importable(ctx context.Context, p *pass[K, R]) ([]R, error) {
	if r.kind.Address != nil && r.kind.Shared == nil {
		return r.namesakes(ctx, p, "")
	}
	return r.find(ctx, p, Search{Imported: true})
}

// readWhole calls Actuator.Get for a listed resource if PartialLister.IsPartial is true.
func (r *reconciler[K, R]) readWhole(ctx context.Context, p *pass[K, R], found R) (R, error) {
	partial, lacks := p.actuator.(PartialLister[R])
	if !lacks || !partial.IsPartial(found) {
		return found, nil
	}
	return r.get(ctx, p, r.kind.Identify(found).ID)
}

// useImported gives an existing resource to the object, unless another object has claimed the resource
// (reconciler.claimOrWait).
func (r *reconciler[K, R]) useImported(ctx context.Context, p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	who := r.kind.Identify(resource)
	if creator := r.completing(p, who); creator != "" {
		return r.poll(p, "Waiting for %s %s to be completed by the object with uid %s, which creates it",
			r.engine.Noun, who.ID, creator)
	}
	p.record.origin = imported
	if p.managed() {
		p.record.origin = adopted
	}
	if p.managed() && r.kind.Shared != nil {
		return r.join(ctx, p, resource)
	}
	if p.managed() && !r.claimOrWait(p, who.ID) {
		return r.refuseTaken(p, who.ID)
	}
	return r.found(p, resource, nil)
}
