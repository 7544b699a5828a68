package external

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// create calls Actuator.Create, or takes the resource that an earlier attempt has created (findAttempt).
func (r *reconciler[K, R]) create(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	resource, found, o := r.findAttempt(ctx, p)
	if !o.IsDone() {
		return o
	}
	if found {
		return r.adopt(ctx, p, resource)
	}
	if o := r.awaitChange(p); !o.IsDone() {
		return o
	}
	if o := r.reserveAddress(p); !o.IsDone() {
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
	p.record.origin = created
	o = r.found(p, resource, nil)
	p.record.repeated = false
	p.use()
	return o
}

// creationOf returns the creation for Kind.Name, or for Kind.Address if the kind has addresses.
func (r *reconciler[K, R]) creationOf(p *pass[K, R]) cloudKey {
	name := r.kind.Name(p.Object)
	if r.kind.Address != nil {
		name = r.addressKey(p, r.kind.Address(p.Input))
	}
	return cloudKey{r.kind.GVK.GroupKind(), p.cloud, name}
}

// addressKey returns the same text for all addresses of a resource ([Kind.Realm], [Kind.Key]).
func (r *reconciler[K, R]) addressKey(p *pass[K, R], id string) string {
	what := r.claimed(p.cloud, p.Object, id)
	return what.realm + "\n" + what.ID
}

// reserveAddress lets an object wait while another object creates a resource at the same [Kind.Address].
// Otherwise both objects would find no resource at the Address, and the second PUT would change the
// resource of the first.
func (r *reconciler[K, R]) reserveAddress(p *pass[K, R]) reconcile.Outcome {
	if r.kind.Address == nil || r.engine.records.reserve(p.record, r.creationOf(p), r.engine.Clock.Now()) {
		return reconcile.Outcome{}
	}
	return r.poll(p, "Waiting for another object, which has %s %s created", r.engine.Noun, r.kind.Address(p.Input))
}

// adopt takes a resource that an attempt or an operation (intent.Operation) has created for the object.
func (r *reconciler[K, R]) adopt(ctx context.Context, p *pass[K, R], resource R) reconcile.Outcome {
	id := r.kind.Identify(resource).ID
	r.engine.records.startCompletion(p.record)
	if r.intent(p).Operation != "" {
		p.record.origin = created
	} else {
		r.engine.event(p.Object, "Normal", "Adopted", "Create", "%s was made by an attempt that was interrupted", id)
	}
	p.status().ID = &id
	resource, err := r.readWhole(ctx, p, resource)
	return r.found(p, resource, err)
}

// recordAttempt writes an intent before Actuator.Create. If an earlier intent has the same Name and Place
// (intent.sameAs), recordAttempt keeps its intent.Time and renews intent.Tried: intent.Time of the first
// attempt finds the resource of any attempt.
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

// notCreated decides what follows after an error of Actuator.Create.
func (r *reconciler[K, R]) notCreated(ctx context.Context, p *pass[K, R], err error) reconcile.Outcome {
	p.record.refused = wasAnswered(err)
	if !p.record.refused {
		if errorOf(err).Late {
			p.record.until = r.engine.Clock.Now().Add(carriedOut)
		}
		return r.failed(p, err)
	}
	r.engine.records.refuseAttempt(p.record)
	// Without the intent, no pass searches for a resource of this attempt, even after a restart.
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

// vacated is the pause before a refused object is reconciled again, if the refusal was that the resource
// exists already. No event says that another client has deleted the resource.
const vacated = time.Minute

// maxNamesakes bounds the ids in intent.Before.
const maxNamesakes = 64

// recordNamesakes writes into intent.Before which resources of the name exist before the creation, for
// kinds without [Kind.Dated] and without [Kind.Marked]. For a kind with [Kind.Address], an existing
// resource refuses the creation.
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

// A new resource may lack fields that Actuator.Update writes, or have superfluous parts. For example,
// Neutron adds rules to a new security group, and the SecurityGroup deletes the rules by Update. No other
// object imports a resource that its creating object has yet to complete.

// longestUnfinished is the time after Identity.Created for which an unfinished resource is left to the
// object that created the resource. That object may be gone: deleted with onDelete detach, for example.
const longestUnfinished = time.Hour

// isUnfinished reports whether [Identity.Unfinished] says that another object than the object with uid is
// still completing the resource.
func isUnfinished(who Identity, uid types.UID, now time.Time) bool {
	return who.Unfinished && who.Marker != uid && !isOld(who, now)
}

func isOld(who Identity, now time.Time) bool {
	return !who.Created.IsZero() && now.Sub(who.Created) >= longestUnfinished
}

// completing returns the uid of another object that created a resource and is still completing the
// resource, or "". records.endCompletion requeues the importing object.
func (r *reconciler[K, R]) completing(p *pass[K, R], who Identity) types.UID {
	uid, now := p.Object.GetUID(), r.engine.Clock.Now()
	switch {
	case isUnfinished(who, uid, now):
		return who.Marker
	case isOld(who, now):
		return ""
	default:
		name := who.Name
		if r.kind.Address != nil {
			name = r.addressKey(p, who.ID)
		}
		return r.engine.records.completedBy(p.record, r.resourceOf(p.cloud, who.ID), name, now)
	}
}

// startAttempt sets record.attempt before Actuator.Create.
func (s *records) startAttempt(r *record, what cloudKey, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setAttempt(r, what, now)
}

func (s *records) setAttempt(r *record, what cloudKey, now time.Time) {
	s.endAttempt(r)
	r.container.Store(nil) // The new resource is not the one that went.
	if !r.gone.Load() {
		r.attempt, r.attempted = what, now
		s.attempts.add(what, r)
	}
}

// reserve is like records.startAttempt, but returns false if another object has the same record.attempt.
func (s *records) reserve(r *record, what cloudKey, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.hasOther(what, r) {
		return false
	}
	s.setAttempt(r, what, now)
	return true
}

// refuseAttempt clears record.attempt after a Create that created nothing.
func (s *records) refuseAttempt(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endAttempt(r)
}

func (s *records) endAttempt(r *record) {
	s.attempts.remove(r.attempt, r)
	r.attempt = cloudKey{}
}

// startCompletion sets record.incomplete: correctResource has yet to correct the new resource.
func (s *records) startCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.incomplete = true
}

// endCompletion clears record.incomplete, and requeues the objects that import the resource.
func (s *records) endCompletion(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.incomplete {
		r.incomplete = false
		s.wakeWaiting(r.claim.Resource)
	}
}

// completedBy returns the uid of another object that has yet to correct a resource, or "". The other
// object has claimed the resource (record.incomplete), or has called Create for the name and got no answer
// (record.attempt) for at most carriedOut. If the other object has claimed the resource, endCompletion
// requeues the object of r.
func (s *records) completedBy(r *record, what Resource, name string, now time.Time) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.claims[what] {
		if other != r && other.incomplete {
			s.waitFor(r, what)
			return other.uid
		}
	}
	if len(s.claims[what]) > 0 || name == "" {
		return ""
	}
	for other := range s.attempts[cloudKey{what.Kind, what.cloud, name}] {
		if other != r && now.Sub(other.attempted) < carriedOut {
			return other.uid
		}
	}
	return ""
}
