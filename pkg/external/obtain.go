package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// clockSkew is by how much the clock outside may be behind ours.
const clockSkew = 2 * time.Minute

// intent is recorded before something is created.
type intent struct {
	// UID is the object's: a copy of it means nothing to another one.
	UID  types.UID `json:"uid"`
	Time time.Time `json:"time"`
	Name string    `json:"name"`
	// Tried is when the last attempt was about to be sent. An intent of an earlier release has
	// none.
	Tried time.Time `json:"tried,omitzero"`
	// Before are the ids of what had that name already, where nothing else tells.
	Before []string `json:"before,omitempty"`
	// Place is where it is created.
	Place string `json:"place,omitempty"`
	// Replaces is the id of the resource that was gone.
	Replaces string `json:"replaces,omitempty"`
}

// sameAs reports whether an earlier intent is to make the same thing, so that it serves
// to find what any attempt has made.
func (i *intent) sameAs(earlier *intent) bool {
	return earlier != nil && earlier.Name == i.Name && earlier.Place == i.Place
}

func (r *reconciler[K, R]) annotation() string { return IntentAnnotation(r.engine.Group) }

// fieldOwner is the field manager that puts our finalizer on.
func (r *reconciler[K, R]) fieldOwner() string { return r.finalizer + "controller/finalizer" }

// intent returns the intent that may have been carried out without that being
// recorded, or nil.
func (r *reconciler[K, R]) intent(p *pass[K, R]) *intent {
	if i := r.recorded(p.Object); r.counts(p, i) {
		return i
	}
	if r.counts(p, p.memory.began) { // It was stripped, or written over.
		return p.memory.began
	}
	return nil
}

// recorded returns the intent that an object carries, or nil.
func (r *reconciler[K, R]) recorded(obj client.Object) *intent {
	i := &intent{}
	if json.Unmarshal([]byte(obj.GetAnnotations()[r.annotation()]), i) != nil {
		return nil
	}
	return i
}

// counts reports whether an intent is the object's, for the resource that it has not.
func (r *reconciler[K, R]) counts(p *pass[K, R], i *intent) bool {
	return i != nil && i.UID == p.Object.GetUID() && i.Replaces == idOf(p.before)
}

// An attempt that was not answered may be carried out still: for carriedOut after the answer of
// somebody in between who did not wait, and for unknownEnd after the attempt of a process that was
// killed. An intent that does not tell when that was is of an earlier release: unknownEnd begins
// when this process finds it.
const (
	carriedOut = time.Minute
	unknownEnd = 10 * time.Second
)

// underway waits while what an attempt asked for may still come: with another attempt
// there would be two.
func (r *reconciler[K, R]) underway(p *pass[K, R]) reconcile.Outcome {
	now := r.engine.Clock.Now()
	if !p.memory.sent && p.memory.until.IsZero() {
		p.memory.until = now.Add(unknownEnd)
		// The clocks of two machines may differ, so that a time to come counts as now. The wait
		// goes on over restarts: an operator that is killed every few seconds comes to its end.
		if i := r.intent(p); i != nil && !i.Tried.IsZero() && i.Tried.Before(now) {
			p.memory.until = i.Tried.Add(unknownEnd)
		}
	}
	if !now.Before(p.memory.until) {
		return reconcile.Outcome{}
	}
	// The last look comes when the wait is over, and not up to 15 s later: an operator that is
	// killed again and again would begin the wait anew each time, and come to no end.
	p.memory.polls.plan(now, p.memory.until)
	return r.poll(p, "Waiting for what was asked of %s before: its answer was lost", r.engine.Cloud)
}

// newIntent returns an intent to create the object's resource now.
func (r *reconciler[K, R]) newIntent(p *pass[K, R]) *intent {
	now := r.engine.Clock.Now().UTC()
	return &intent{
		UID: p.Object.GetUID(), Time: now.Truncate(time.Second), Tried: now,
		Name: r.kind.Name(p.Object), Place: p.place, Replaces: idOf(p.before),
	}
}

// own puts our finalizer on the object, together with an intent.
func (r *reconciler[K, R]) own(ctx context.Context, p *pass[K, R], i *intent) reconcile.Outcome {
	u := guard.Partial(r.kind.GVK, p.Object)
	u.SetFinalizers([]string{r.finalizer})
	if i != nil {
		text, err := json.Marshal(i)
		if err != nil {
			return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("record the intent: %w", err))
		}
		u.SetAnnotations(map[string]string{r.annotation(): string(text)})
	}
	err := r.engine.Live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.fieldOwner()), client.ForceOwnership)
	if err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("write the finalizer: %w", err))
	}
	r.writes.Wrote(p.id, u.GetResourceVersion())
	p.memory.began, p.memory.native = i, true
	now := newOf[K]()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, now); err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("read what the finalizer was written to: %w", err))
	}
	if idOf(now) != idOf(p.before) || now.GetGeneration() != p.Object.GetGeneration() {
		// Somebody was faster. The watch brings what they wrote.
		return r.refresh()
	}
	p.Object.SetFinalizers(u.GetFinalizers())
	p.Object.SetAnnotations(u.GetAnnotations())
	return reconcile.Outcome{}
}

// obtain has the object have its resource, as it should be.
func (r *reconciler[K, R]) obtain(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if id := r.known(p); id != "" {
		if o := r.distinct(p).And(r.recordUse(p, id)); !o.IsDone() {
			return o
		}
		one := lookup{scope: p.scope, id: id, after: p.altered, underway: p.memory.polls.done > 0}
		resource, err := r.observer.look(ctx, one, p.actuator, func(ctx context.Context) (R, error) {
			return r.get(ctx, p, id)
		})
		if !isClass(err, Missing) {
			return r.seen(ctx, p, resource, err)
		}
		if o := r.lost(p, id); !o.IsDone() {
			return o
		}
	}
	if id, asked := p.Object.GetImport(); asked {
		return r.take(ctx, p, id)
	}
	if r.kind.Shared != nil {
		return r.createShared(ctx, p)
	}
	return r.create(ctx, p)
}

// lost has a resource made again that is not there any more.
func (r *reconciler[K, R]) lost(p *pass[K, R], id string) reconcile.Outcome {
	if o := r.elsewhere(p); !o.IsDone() {
		return o
	}
	if !p.managed() {
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "resource has been deleted from %s", r.engine.Cloud)
	}
	r.engine.event(p.Object, "Warning", "DeletedExternally", "Recreate",
		"%s was deleted externally; it is created again", id)
	r.wakeSharers(p, id)
	r.claims.drop(p.Object.GetUID())
	return r.resolve(p, false) // What it was made with is needed again.
}

// elsewhere is done where the credentials lead to the place that the resource is in, or
// that one was perhaps made in. What is missing in another place is not gone. Where ids
// are chosen by people, what is found in another place is another resource.
func (r *reconciler[K, R]) elsewhere(p *pass[K, R]) reconcile.Outcome {
	place, is := p.status().Place, "is"
	if i := r.intent(p); i != nil {
		place, is = i.Place, "may have been made"
	}
	if place == "" || p.place == "" || place == p.place {
		return reconcile.Outcome{}
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

// distinct is done where what has the object's id can only be its resource.
func (r *reconciler[K, R]) distinct(p *pass[K, R]) reconcile.Outcome {
	if r.kind.Realm == nil {
		return reconcile.Outcome{}
	}
	return r.elsewhere(p)
}

// known returns the id of the resource, also when it is not yet recorded.
func (r *reconciler[K, R]) known(p *pass[K, R]) string {
	if id := idOf(p.Object); id != "" {
		return id
	}
	return r.claims.of(p.Object.GetUID())
}

// take finds the existing resource that is asked for.
func (r *reconciler[K, R]) take(ctx context.Context, p *pass[K, R], id string) reconcile.Outcome {
	if id != "" {
		resource, err := p.actuator.Get(ctx, p.Input, id)
		if isClass(err, Missing) {
			return reconcile.Refuse(condition.ReasonUnrecoverableError,
				"referenced resource does not exist in %s", r.engine.Cloud)
		}
		if err == nil {
			err = r.verifyImported(resource, id)
		}
		return r.taken(ctx, p, resource, err)
	}
	found, err := r.find(ctx, p, Search{Imported: true})
	found = slices.DeleteFunc(found, func(one R) bool {
		return isUnfinished(r.kind.Identify(one), p.Object.GetUID(), r.engine.Clock.Now())
	})
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
	return r.taken(ctx, p, resource, err)
}

// longestUnfinished is how long after it was made an unfinished resource is left to the object that
// made it. That object may be gone: it was deleted with onDelete detach, for example.
const longestUnfinished = time.Hour

// isUnfinished reports whether another object than that of a uid is still completing the
// resource that it made.
func isUnfinished(who Identity, uid types.UID, now time.Time) bool {
	return who.Unfinished && who.Marker != uid && (who.Created.IsZero() || now.Sub(who.Created) < longestUnfinished)
}

// readWhole returns a resource that was found in a list as Get tells it, where a list tells too
// little.
func (r *reconciler[K, R]) readWhole(ctx context.Context, p *pass[K, R], found R) (R, error) {
	partial, lacks := p.actuator.(PartialLister[R])
	if !lacks || !partial.IsPartial(found) {
		return found, nil
	}
	return r.get(ctx, p, r.kind.Identify(found).ID)
}

func (r *reconciler[K, R]) taken(ctx context.Context, p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	who := r.kind.Identify(resource)
	if isUnfinished(who, p.Object.GetUID(), r.engine.Clock.Now()) {
		return r.poll(p, "Waiting for %s %s to be completed by the object with uid %s, which creates it",
			r.engine.Noun, who.ID, who.Marker)
	}
	if p.managed() && r.kind.Shared != nil {
		return r.join(ctx, p, resource)
	}
	id := who.ID
	if p.managed() && !r.claims.ask(r.claimed(p.cloud, p.Object, id), p.Object.GetUID(), p.id) {
		p.memory.tried = unsettled
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"%s %s belongs to another object already", r.engine.Noun, id)
	}
	p.status().ID = &id
	return r.seen(ctx, p, resource, nil)
}

// create makes the resource, or finds what an attempt before has made.
func (r *reconciler[K, R]) create(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	earlier := r.intent(p)
	if earlier != nil && !p.memory.refused {
		resource, found, o := r.orphan(ctx, p, earlier)
		if !found {
			o = o.And(r.elsewhere(p)).And(r.underway(p))
		}
		if !o.IsDone() || found {
			return o.And(r.ifFound(ctx, p, resource, found))
		}
	}
	i := r.newIntent(p)
	if !i.sameAs(earlier) || !slices.Contains(p.Object.GetFinalizers(), r.finalizer) {
		p.memory.refused = true // Nothing was sent yet.
		if o := r.survey(ctx, p, i); !o.IsDone() {
			return o
		}
		if o := r.own(ctx, p, i); !o.IsDone() {
			return o
		}
	} else if o := r.retry(ctx, p, earlier); !o.IsDone() {
		return o
	}
	p.memory.refused, p.memory.sent = false, true
	resource, err := p.actuator.Create(ctx, p.Input)
	if err == nil {
		err = r.verifyCreated(resource)
	}
	if err != nil {
		return r.notCreated(ctx, p, err)
	}
	id := r.kind.Identify(resource).ID
	if !r.claim(p, id) {
		return r.claimLost(id)
	}
	p.status().ID, p.memory.repeated = &id, false
	p.use()
	return r.seen(ctx, p, resource, nil)
}

// retry records that an attempt is made again. All else that the intent says stays: by its time
// what the attempts before have made is known.
func (r *reconciler[K, R]) retry(ctx context.Context, p *pass[K, R], earlier *intent) reconcile.Outcome {
	again := *earlier
	again.Tried = r.engine.Clock.Now().UTC()
	return r.own(ctx, p, &again)
}

// notCreated is what follows an attempt that failed, as far as is known.
func (r *reconciler[K, R]) notCreated(ctx context.Context, p *pass[K, R], err error) reconcile.Outcome {
	p.memory.refused = wasAnswered(err)
	if !p.memory.refused {
		if known, ok := errors.AsType[*Error](err); ok && known.Late {
			p.memory.until = r.engine.Clock.Now().Add(carriedOut)
		}
		return r.failed(p, err)
	}
	// What is there, or comes, is not what this attempt has made, also after a restart.
	if o := r.own(ctx, p, nil); !o.IsDone() {
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

// namesakes is how many resources of one name an intent records.
const namesakes = 64

// survey records what there is of the name before anything is made, where it could not
// be told from that afterwards.
func (r *reconciler[K, R]) survey(ctx context.Context, p *pass[K, R], i *intent) reconcile.Outcome {
	if r.kind.Dated || r.kind.Marked {
		return reconcile.Outcome{}
	}
	found, err := r.find(ctx, p, Search{Name: i.Name})
	if err != nil {
		return r.failed(p, err)
	}
	if len(found) > namesakes {
		return reconcile.Refuse(condition.ReasonInvalidConfiguration,
			"there are %d resources of that name already: choose another name", len(found))
	}
	for _, one := range found {
		i.Before = append(i.Before, r.kind.Identify(one).ID)
	}
	return reconcile.Outcome{}
}

// made reports whether a resource without the mark of an object may be what the attempt
// of its intent has made. When the object began bounds what the intent says, which
// people could write.
func made(i *intent, who Identity, began time.Time, dated, marked bool) bool {
	switch {
	case marked || who.Marker != "":
		return false
	case dated:
		since := i.Time
		if began.After(since) {
			since = began
		}
		return who.Created.After(since.Add(-clockSkew))
	default:
		return !slices.Contains(i.Before, who.ID)
	}
}

func (r *reconciler[K, R]) ifFound(ctx context.Context, p *pass[K, R], resource R, found bool) reconcile.Outcome {
	if !found {
		return reconcile.Outcome{}
	}
	id := r.kind.Identify(resource).ID
	p.status().ID = &id
	r.engine.event(p.Object, "Normal", "Adopted", "Create", "%s was made by an attempt that was interrupted", id)
	resource, err := r.readWhole(ctx, p, resource)
	return r.seen(ctx, p, resource, err)
}

// orphan finds what an earlier attempt has made, and claims it.
func (r *reconciler[K, R]) orphan(
	ctx context.Context, p *pass[K, R], i *intent,
) (resource R, found bool, o reconcile.Outcome) {
	all, err := r.find(ctx, p, Search{Name: i.Name})
	if err != nil {
		return resource, false, r.failed(p, err)
	}
	began := p.Object.GetCreationTimestamp().Time
	var candidates []R
	for _, one := range all {
		who := r.kind.Identify(one)
		if who.Marker == p.Object.GetUID() {
			candidates = []R{one}
			break
		}
		if made(i, who, began, r.kind.Dated, r.kind.Marked) && r.claims.free(resourceID{p.cloud, who.ID}, p.Object.GetUID()) {
			candidates = append(candidates, one)
		}
	}
	switch {
	case len(candidates) == 0:
		return resource, false, o
	case len(candidates) > 1: // Others may claim theirs yet, so it is looked at again.
		return resource, false, reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
			"found more than one matching %s during adoption: name the right one in spec.adopt, or delete what is not needed",
			r.engine.Noun))
	}
	if id := r.kind.Identify(candidates[0]).ID; !r.claim(p, id) {
		return resource, false, r.claimLost(id)
	}
	return candidates[0], true, o
}

// claimLost fails a pass whose created resource has the id of another object's resource. The
// failure has a back-off, so that a cloud that always answers with the same id is asked less
// and less often.
func (r *reconciler[K, R]) claimLost(id string) reconcile.Outcome {
	return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
		"%s has created %s %s, which belongs to another object already", r.engine.Cloud, r.engine.Noun, id))
}
