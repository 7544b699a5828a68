package external

import (
	"context"
	"fmt"
	"slices"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// possession lists the facts about an object's resource before the resource is read or created.
type possession struct {
	// known says that the id is known (reconciler.knownID). missing says that the cloud has no resource with
	// that id.
	known, missing bool
	// elsewhere says that the credentials lead to another place than status.place.
	elsewhere bool
	managed   bool
	imports   bool // spec.import or spec.adopt is set
	shared    bool // the kind has Shared
}

// obtaining is the result of possession.decide.
type obtaining int

const (
	readKnown     obtaining = iota // by the known id
	refuseMoved                    // the resource may exist in another place
	refuseDeleted                  // an imported resource is gone
	importOne                      // an existing resource
	createOne                      // a resource of its own
	createShared                   // or use the resource that other objects have
)

// decide decides how an object gets its resource.
func (f possession) decide() obtaining {
	switch {
	case f.known && !f.missing:
		return readKnown
	case f.known && f.elsewhere:
		return refuseMoved
	case f.known && !f.managed:
		return refuseDeleted
	case f.imports:
		return importOne
	case f.shared:
		return createShared
	default:
		return createOne
	}
}

// obtainResource reads, imports, finds or creates the resource of the object.
func (r *reconciler[K, R]) obtainResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	id := r.knownID(p)
	importID, imports := p.Object.GetImport()
	facts := possession{known: id != "", managed: p.managed(), imports: imports, shared: r.kind.Shared != nil}
	if facts.decide() == readKnown {
		missing, o := r.readKnown(ctx, p, id)
		if !missing {
			return o
		}
		facts.missing, facts.elsewhere = true, r.movedFrom(p) != ""
	}
	decision := facts.decide()
	if facts.missing && decision != refuseMoved && decision != refuseDeleted {
		if o := r.replace(p, id); !o.IsDone() {
			return o
		}
	}
	switch decision {
	case refuseMoved:
		return r.refuseMoved(p)
	case refuseDeleted:
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "resource has been deleted from %s", r.engine.Cloud)
	case importOne:
		return r.importResource(ctx, p, importID)
	case createShared:
		return r.createShared(ctx, p)
	default:
		return r.create(ctx, p)
	}
}

// knownID returns status.id of the object, or the id of the object's claim if the status has no id yet
// (records.claimedID).
func (r *reconciler[K, R]) knownID(p *pass[K, R]) string {
	if id := idOf(p.Object); id != "" {
		return id
	}
	return r.engine.records.claimedID(p.record)
}

// readKnown reads the resource with a known id (observer.look). missing says that the cloud has no such
// resource.
func (r *reconciler[K, R]) readKnown(
	ctx context.Context, p *pass[K, R], id string,
) (missing bool, o reconcile.Outcome) {
	if o := r.refuseNamesake(p).And(r.recordUse(p, id)); !o.IsDone() {
		return false, o
	}
	one := lookup{scope: p.scope, id: id, after: p.altered, underway: p.record.polls.done > 0}
	resource, err := r.observer.look(ctx, one, p.actuator, func(ctx context.Context) (R, error) {
		return r.get(ctx, p, id)
	})
	if isClass(err, Missing) {
		return true, o
	}
	if err == nil && !r.holds(p, id) {
		p.status().ID, p.status().Place = nil, "" // The deletion of this object leaves the resource alone.
		return false, r.refuseTaken(p, id)
	}
	return false, r.found(p, resource, err).And(r.endReplacement(ctx, p))
}

// holds claims the resource of status.id, and reports whether no other object has the resource. An object
// with status.id has no claim yet if the object was Unmanaged before, or if another object has the claim.
func (r *reconciler[K, R]) holds(p *pass[K, R], id string) bool {
	if !p.managed() || r.kind.Shared != nil || r.engine.records.claimedID(p.record) != "" {
		return true
	}
	return r.claimOrWait(p, id)
}

// refuseTaken refuses an object whose resource another object has claimed.
func (r *reconciler[K, R]) refuseTaken(p *pass[K, R], id string) reconcile.Outcome {
	p.record.tried = unsettled // The end of the other object is no change of a reference.
	return reconcile.Refuse(condition.ReasonInvalidConfiguration,
		"%s %s belongs to another object already", r.engine.Noun, id)
}

// endReplacement drops the intent to replace a deleted resource (intent.Replaces), once the new resource
// is read at the same [Kind.Address]. For kinds without Address, the new status.id shows that the attempt
// has ended.
func (r *reconciler[K, R]) endReplacement(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.kind.Address == nil || r.intent(p) == nil {
		return reconcile.Outcome{}
	}
	p.record.began = nil
	return r.writeFinalizer(ctx, p, nil)
}

// found records the id of the resource that was read, found or created in status.id.
func (r *reconciler[K, R]) found(p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	p.verdict.answered = true
	id := r.kind.Identify(resource).ID
	p.status().ID, p.status().Place, p.resource = &id, p.recordedPlace(), resource
	return reconcile.Outcome{}
}

// replace prepares the creation of a new resource after the old resource was deleted externally.
func (r *reconciler[K, R]) replace(p *pass[K, R], id string) reconcile.Outcome {
	r.engine.event(p.Object, "Warning", "DeletedExternally", "Recreate",
		"%s was deleted externally; it is created again", id)
	r.wakeSharers(p, id)
	r.engine.records.drop(p.record)
	p.record.updating = ""
	return r.resolve(p, false) // The targets that a creation needs are needed again.
}

// movedFrom returns status.place, or intent.Place of an attempt without a recorded end, if the credentials
// lead to another place (pass.place). Otherwise movedFrom returns "". A resource that is [Missing] at
// another place is not deleted.
func (r *reconciler[K, R]) movedFrom(p *pass[K, R]) string {
	place := p.status().Place
	if i := r.intent(p); i != nil {
		place = i.Place
	}
	if p.place == "" || place == p.place {
		return ""
	}
	return place
}

// refuseMoved refuses credentials that lead to another place than the resource's place (movedFrom).
func (r *reconciler[K, R]) refuseMoved(p *pass[K, R]) reconcile.Outcome {
	place, is := r.movedFrom(p), "is"
	if place == "" {
		return reconcile.Outcome{}
	}
	if r.intent(p) != nil {
		is = "may have been made"
	}
	text := fmt.Sprintf("%s %s in %s, and the credentials lead to %s: have them lead back, or delete the object "+
		"with managedOptions.onDelete detach to leave there what is there", r.engine.Noun, is, place, p.place)
	woken := slices.ContainsFunc(p.Refs.Targets(), engine.Target.IsMetadata)
	switch {
	case !woken: // The credentials are another object's.
		return r.poll(p, "%s", text)
	case p.Object.GetDeletionTimestamp() != nil:
		return reconcile.Wait(condition.ReasonProgressing, "%s", text)
	default:
		return reconcile.Refuse(condition.ReasonInvalidConfiguration, "%s", text)
	}
}

// refuseNamesake is refuseMoved for kinds with [Kind.Realm], whose ids people choose. For example, key
// pair "laptop" in another place is another resource.
func (r *reconciler[K, R]) refuseNamesake(p *pass[K, R]) reconcile.Outcome {
	if r.kind.Realm == nil {
		return reconcile.Outcome{}
	}
	return r.refuseMoved(p)
}

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
