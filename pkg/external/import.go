package external

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// importResource finds the existing resource that spec.import or spec.adopt describes, by id or
// by filter.
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
	found, err := r.find(ctx, p, Search{Imported: true})
	found = slices.DeleteFunc(found, func(one R) bool { return r.completing(p, r.kind.Identify(one)) != "" })
	switch {
	case err != nil:
		return r.failed(p, err)
	case len(found) == 0:
		return r.poll(p, "Waiting for %s to be created externally", r.engine.Noun)
	case len(found) > 1:
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"found more than one matching %s during import", r.engine.Noun)
	}
	resource, err := r.readWhole(ctx, p, found[0])
	return r.useImported(ctx, p, resource, err)
}

// longestUnfinished is how long after the creation an unfinished resource is left to the object
// that created the resource. That object may be gone: deleted with onDelete detach, for example.
const longestUnfinished = time.Hour

// isUnfinished reports whether the mark of a resource tells that another object than that of a
// uid is still completing the resource.
func isUnfinished(who Identity, uid types.UID, now time.Time) bool {
	return who.Unfinished && who.Marker != uid && !isOld(who, now)
}

func isOld(who Identity, now time.Time) bool {
	return !who.Created.IsZero() && now.Sub(who.Created) >= longestUnfinished
}

// completing returns the uid of the other object that created a resource and is still completing
// it, or "". For example, a new security group has rules of Neutron until the SecurityGroup that
// creates the group has deleted the rules. The importing object is woken when the resource is
// complete.
func (r *reconciler[K, R]) completing(p *pass[K, R], who Identity) types.UID {
	uid, now := p.Object.GetUID(), r.engine.Clock.Now()
	switch {
	case isUnfinished(who, uid, now):
		return who.Marker
	case isOld(who, now):
		return ""
	default:
		return r.engine.records.completedBy(p.record, r.resourceOf(p.cloud, who.ID))
	}
}

// readWhole reads a resource of a list again with Get, if lists lack fields that Get returns.
func (r *reconciler[K, R]) readWhole(ctx context.Context, p *pass[K, R], found R) (R, error) {
	partial, lacks := p.actuator.(PartialLister[R])
	if !lacks || !partial.IsPartial(found) {
		return found, nil
	}
	return r.get(ctx, p, r.kind.Identify(found).ID)
}

// useImported makes an existing resource the object's own, unless the resource belongs to another
// object.
func (r *reconciler[K, R]) useImported(ctx context.Context, p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	who := r.kind.Identify(resource)
	if creator := r.completing(p, who); creator != "" {
		return r.poll(p, "Waiting for %s %s to be completed by the object with uid %s, which creates it",
			r.engine.Noun, who.ID, creator)
	}
	if p.managed() && r.kind.Shared != nil {
		return r.join(ctx, p, resource)
	}
	if p.managed() && !r.claimOrWait(p, who.ID) {
		p.record.tried = unsettled
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"%s %s belongs to another object already", r.engine.Noun, who.ID)
	}
	return r.found(p, resource, nil)
}
