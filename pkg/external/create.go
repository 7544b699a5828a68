package external

import (
	"context"
	"errors"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// create creates the resource, or finds the resource that an attempt before has created.
func (r *reconciler[K, R]) create(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	resource, found, o := r.findAttempt(ctx, p)
	if !o.IsDone() {
		return o
	}
	if found {
		return r.adopt(ctx, p, resource)
	}
	if o := r.awaitChange(p).And(r.reserveAddress(p)); !o.IsDone() {
		return o
	}
	if o := r.recordAttempt(ctx, p); !o.IsDone() {
		r.engine.records.refuseAttempt(p.record)
		return o
	}
	p.record.refused, p.record.sent, p.record.until = false, true, time.Time{}
	r.engine.records.startAttempt(p.record, r.creationOf(p), r.engine.Clock.Now())
	resource, err := p.actuator.Create(ctx, p.Input)
	if err == nil {
		err = r.verifyCreated(p, resource)
	}
	if isClass(err, Pending) {
		return r.recordOperation(ctx, p, err)
	}
	if err != nil {
		return r.notCreated(ctx, p, err)
	}
	if id := r.kind.Identify(resource).ID; !r.claim(p, id) {
		return r.claimLost(id)
	}
	r.engine.records.startCompletion(p.record)
	o = r.found(p, resource, nil)
	p.record.repeated = false
	p.use()
	return o
}

// creationOf returns what the object is about to have created.
func (r *reconciler[K, R]) creationOf(p *pass[K, R]) creation {
	name := r.kind.Name(p.Object)
	if r.kind.Address != nil {
		name = r.addressKey(p, r.kind.Address(p.Input))
	}
	return creation{r.kind.GVK.GroupKind(), p.cloud, name}
}

// addressKey returns a text that is equal for the addresses of one resource.
func (r *reconciler[K, R]) addressKey(p *pass[K, R], id string) string {
	what := r.claimed(p.cloud, p.Object, id)
	return what.realm + "\n" + what.ID
}

// reserveAddress has the object wait while another object has a resource created at the same address: both
// would find that nothing exists there, and the second creation would change what the first one made.
func (r *reconciler[K, R]) reserveAddress(p *pass[K, R]) reconcile.Outcome {
	if r.kind.Address == nil || r.engine.records.reserve(p.record, r.creationOf(p), r.engine.Clock.Now()) {
		return reconcile.Outcome{}
	}
	return r.poll(p, "Waiting for another object, which has %s %s created", r.engine.Noun, r.kind.Address(p.Input))
}

// adopt makes the resource that an attempt or an operation has created the object's own.
func (r *reconciler[K, R]) adopt(ctx context.Context, p *pass[K, R], resource R) reconcile.Outcome {
	id := r.kind.Identify(resource).ID
	r.engine.records.startCompletion(p.record)
	if r.intent(p).Operation == "" {
		r.engine.event(p.Object, "Normal", "Adopted", "Create", "%s was made by an attempt that was interrupted", id)
	}
	p.status().ID = &id
	resource, err := r.readWhole(ctx, p, resource)
	return r.found(p, resource, err)
}

// recordAttempt writes an intent before an attempt. An earlier intent to create the same resource
// is written again with the time of this attempt alone: by the time of the first attempt the
// resource of any attempt is found.
func (r *reconciler[K, R]) recordAttempt(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	earlier, i := r.intent(p), r.newIntent(p)
	if i.sameAs(earlier) && r.hasFinalizer(p) {
		again := *earlier
		again.Tried, again.Operation, again.Cloud, again.Serial = i.Tried, "", i.Cloud, i.Serial
		return r.writeFinalizer(ctx, p, &again)
	}
	p.record.refused = true // Create was not called yet.
	if o := r.recordNamesakes(ctx, p, i); !o.IsDone() {
		return o
	}
	return r.writeFinalizer(ctx, p, i)
}

// notCreated decides what follows an attempt that failed.
func (r *reconciler[K, R]) notCreated(ctx context.Context, p *pass[K, R], err error) reconcile.Outcome {
	p.record.refused = wasAnswered(err)
	if !p.record.refused {
		if known, ok := errors.AsType[*Error](err); ok && known.Late {
			p.record.until = r.engine.Clock.Now().Add(carriedOut)
		}
		return r.failed(p, err)
	}
	r.engine.records.refuseAttempt(p.record)
	// No resource is that of this attempt, also after a restart.
	if o := r.writeFinalizer(ctx, p, nil); !o.IsDone() {
		return o
	}
	if !isClass(err, Invalid) {
		return r.failed(p, err)
	}
	if r.kind.Shared != nil {
		if decided, o := r.explainRefusal(ctx, p); decided {
			return o
		}
	}
	return reconcile.Refuse(condition.ReasonInvalidConfiguration, "invalid configuration creating resource: %s", err)
}

// vacated is how long after a refusal an object whose resource exists already is looked at again. No event
// tells that another client has deleted the resource.
const vacated = time.Minute

// maxNamesakes is how many resources of one name an intent records.
const maxNamesakes = 64

// recordNamesakes records in an intent which resources of the name exist before the creation, for
// kinds whose resources tell neither their age nor their object.
func (r *reconciler[K, R]) recordNamesakes(ctx context.Context, p *pass[K, R], i *intent) reconcile.Outcome {
	if r.kind.Address == nil && (r.kind.Dated || r.kind.Marked) {
		return reconcile.Outcome{}
	}
	found, err := r.namesakes(ctx, p, i.Name)
	if err != nil {
		return r.failed(p, err)
	}
	if r.kind.Address != nil && len(found) > 0 {
		p.record.tried, p.again = unsettled, vacated
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"%s %s exists already, and this object did not create it: set %s to take it over, "+
				"or choose another name", r.engine.Noun, r.kind.Identify(found[0]).ID, r.engine.Adopt)
	}
	if len(found) > maxNamesakes {
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"there are %d resources of that name already: choose another name", len(found))
	}
	for _, one := range found {
		i.Before = append(i.Before, r.kind.Identify(one).ID)
	}
	return reconcile.Outcome{}
}
