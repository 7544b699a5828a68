package external

import (
	"context"
	"fmt"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// maxOperation bounds the bytes of intent.Operation.
const maxOperation = 4096

// recordOperation records the operation of a Create in intent.Operation, and waits for the end of the
// operation.
func (r *reconciler[K, R]) recordOperation(ctx context.Context, p *pass[K, R], begun error) reconcile.Outcome {
	p.verdict.answered = true
	i := *r.intent(p)
	if i.Operation = errorOf(begun).Operation; len(i.Operation) > maxOperation {
		p.record.until = r.engine.Clock.Now().Add(carriedOut)
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
			"%s began an operation whose name has %d bytes, more than %d", r.engine.Cloud, len(i.Operation), maxOperation))
	}
	p.record.began = &i // Another creation would be a second one, also if this write fails.
	if o := r.writeFinalizer(ctx, p, &i); !o.IsDone() {
		return o
	}
	p.record.polls = polls{}
	return r.awaitOperation(p, begun, condition.ReasonCreating, "created")
}

// resume calls [Resumer.Resume] for the operation of an attempt. resume returns nil if the operation has
// succeeded, or if the intent has no Operation.
func (r *reconciler[K, R]) resume(ctx context.Context, p *pass[K, R], i *intent) error {
	resumer, ok := p.actuator.(Resumer[K])
	if !ok || i.Operation == "" {
		return nil
	}
	err := resumer.Resume(ctx, p.Input, i.Operation)
	if next := operationOf(err, i.Operation); next != i.Operation {
		// The new intent.Operation is in memory only: a write for each look would cost more than another look
		// after a restart.
		again := *i
		again.Operation = next
		p.record.began = &again
	}
	return err
}

// operationOf returns the argument of the next [Resumer.Resume].
func operationOf(err error, before string) string {
	known := errorOf(err)
	if known.Class != Pending || known.Operation == "" || len(known.Operation) > maxOperation {
		return before
	}
	return known.Operation
}

// updateBegan waits for the end of an Update. The operation of an Update is in memory.updating only: after
// a restart the fields still differ, and correctResource calls Actuator.Update again.
func (r *reconciler[K, R]) updateBegan(p *pass[K, R], begun error) reconcile.Outcome {
	operation := errorOf(begun).Operation
	if operation == "" || len(operation) > maxOperation {
		p.underway = true
		return r.poll(p, "%s", begun)
	}
	p.record.updating, p.record.polls = operation, polls{}
	return r.awaitOperation(p, begun, condition.ReasonUpdating, "updated")
}

// awaitUpdate waits until the operation of an Update has ended (memory.updating). At the end awaitUpdate
// reads the resource again, because pass.resource is older.
func (r *reconciler[K, R]) awaitUpdate(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	resumer, ok := p.actuator.(Resumer[K])
	if !ok || p.record.updating == "" {
		return reconcile.Outcome{}
	}
	if o := r.awaitAsked(p, condition.ReasonUpdating, "updated"); !o.IsDone() {
		r.observeIncomplete(p, p.resource, r.kind.Differs(p.Input, p.resource))
		return o
	}
	err := resumer.Resume(ctx, p.Input, p.record.updating)
	if hasEnded(err) {
		p.record.updating, p.record.polls = "", polls{}
		r.observer.changed(p.scope)
	}
	if err == nil || isClass(err, Missing) {
		p.corrected = true
		p.resource, err = r.get(ctx, p, idOf(p.Object))
		return r.failed(p, err)
	}
	r.observeIncomplete(p, p.resource, r.kind.Differs(p.Input, p.resource))
	if isClass(err, Pending) {
		p.record.updating = operationOf(err, p.record.updating)
		return r.awaitOperation(p, err, condition.ReasonUpdating, "updated")
	}
	return r.failed(p, err)
}

// awaitAsked waits until memory.notBefore, the time at which the cloud accepts the next question about the
// operation. An event, such as the write of the object's own finalizer, may begin a pass earlier.
func (r *reconciler[K, R]) awaitAsked(p *pass[K, R], reason, verb string) reconcile.Outcome {
	left := p.record.notBefore.Sub(r.engine.Clock.Now())
	if left <= 0 {
		return reconcile.Outcome{}
	}
	p.underway = true
	return reconcile.WaitFor(left, reason, "Waiting for %s to be %s", r.engine.Noun, verb)
}

// hasEnded reports whether the error of [Resumer.Resume] says that the operation has ended.
func hasEnded(err error) bool {
	return err == nil || isClass(err, Invalid) || isClass(err, Refused) || isClass(err, Missing)
}

// awaitOperation waits until the next [Resumer.Resume]: for [Error.After] of pending, or for the pause of
// reconciler.pollFor.
func (r *reconciler[K, R]) awaitOperation(p *pass[K, R], pending error, reason, verb string) reconcile.Outcome {
	p.record.notBefore, p.underway = time.Time{}, true
	if after := errorOf(pending).After; after > 0 {
		p.record.notBefore = r.engine.Clock.Now().Add(min(after, longestAsked))
		return r.awaitAsked(p, reason, verb)
	}
	return r.pollFor(p, reason, "Waiting for %s to be %s", r.engine.Noun, verb)
}

// attempt lists the facts about the last call of Actuator.Create, if status.id does not record its result.
type attempt struct {
	// intended says that the object has an intent: Create was called, or was about to be called.
	intended bool
	// refused says that the cloud answered Create with a refusal (wasAnswered).
	refused bool
	// searched says that findOrphans has searched the cloud for resources of the attempt. orphans is the
	// number of resources found.
	searched bool
	orphans  int
	// elsewhere says that the credentials lead to another place than intent.Place.
	elsewhere bool
	// unanswered says that the cloud may still carry out the attempt (reconciler.isUnanswered).
	unanswered bool
	// running says that the operation of the attempt (intent.Operation) has not ended.
	running bool
}

// attemptEnd is the result of attempt.decide.
type attemptEnd int

const (
	createdNothing attemptEnd = iota // or there was no attempt
	toSearch                         // the cloud is to be asked for resources of the attempt
	createdOne                       // the attempt created one resource
	createdSeveral                   // one of several resources is that of the attempt
	triedElsewhere                   // the resource may be in another place
	notEnded                         // the resource may still come
)

// decide decides how an attempt ended.
func (a attempt) decide() attemptEnd {
	switch {
	case !a.intended || a.refused:
		return createdNothing
	case a.running:
		return notEnded
	case !a.searched:
		return toSearch
	case a.orphans == 1:
		return createdOne
	case a.orphans > 1:
		return createdSeveral
	case a.elsewhere:
		return triedElsewhere
	case a.unanswered:
		return notEnded
	default:
		return createdNothing
	}
}

// findAttempt finds out how the last Create for the object ended. If the attempt created the resource,
// findAttempt sets found and claims the resource (reconciler.claim). The reconcile.Outcome is done if the
// attempt has ended.
func (r *reconciler[K, R]) findAttempt(
	ctx context.Context, p *pass[K, R],
) (resource R, found bool, o reconcile.Outcome) {
	i := r.intent(p)
	facts := attempt{intended: i != nil, refused: p.record.refused}
	var ended error // of the operation, if it failed
	if facts.decide() == toSearch {
		if o := r.awaitAsked(p, condition.ReasonCreating, "created"); i.Operation != "" && !o.IsDone() {
			return resource, false, o
		}
		ended = r.resume(ctx, p, i)
		if facts.running = isClass(ended, Pending); !facts.running && !hasEnded(ended) {
			return resource, false, r.failed(p, ended)
		}
	}
	if facts.decide() == toSearch {
		var err error
		if resource, err = r.searchAttempt(ctx, p, i, &facts, ended == nil); err != nil {
			return resource, false, r.failed(p, err)
		}
	}
	return r.concludeAttempt(ctx, p, resource, facts, ended)
}

// searchAttempt calls findOrphans and adds attempt.searched, attempt.orphans, attempt.elsewhere and
// attempt.unanswered to facts. The returned resource is the first orphan. completed says that the
// operation of the attempt did not fail.
func (r *reconciler[K, R]) searchAttempt(
	ctx context.Context, p *pass[K, R], i *intent, facts *attempt, completed bool,
) (resource R, err error) {
	orphans, err := r.findOrphans(ctx, p, i)
	if err != nil {
		return resource, err
	}
	if len(orphans) > 0 {
		resource = orphans[0]
	}
	facts.searched, facts.orphans = true, len(orphans)
	if i.Operation != "" && completed && r.kind.Address == nil && p.record.until.IsZero() {
		p.record.until = r.engine.Clock.Now().Add(carriedOut) // A list may be late.
	}
	facts.elsewhere, facts.unanswered = r.movedFrom(p) != "", r.isUnanswered(p)
	return resource, nil
}

// concludeAttempt acts on attempt.decide. The resource comes from searchAttempt, and ended is the error of
// the attempt's operation.
func (r *reconciler[K, R]) concludeAttempt(
	ctx context.Context, p *pass[K, R], resource R, facts attempt, ended error,
) (_ R, found bool, o reconcile.Outcome) {
	switch facts.decide() {
	case createdOne:
		if id := r.kind.Identify(resource).ID; !r.claim(p, id) {
			return resource, false, r.claimLost(id)
		}
		return resource, true, o
	case createdSeveral: // Another object may claim one of the resources later: repeat.
		return resource, false, reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
			"found more than one matching %s during adoption: name the right one in %s, or delete what is not needed",
			r.engine.Noun, r.engine.Adopt))
	case triedElsewhere:
		return resource, false, r.refuseMoved(p)
	case notEnded:
		if facts.running {
			return resource, false, r.awaitOperation(p, ended, condition.ReasonCreating, "created")
		}
		return resource, false, r.awaitAnswer(p)
	default:
		if ended != nil && !isClass(ended, Missing) {
			return resource, false, r.notCreated(ctx, p, ended)
		}
		return resource, false, o
	}
}

// findOrphans returns the resources that the attempt of an intent may have created. If a resource has the
// object's uid as Identity.Marker, findOrphans returns that resource alone. Otherwise findOrphans returns
// the resources that intent.made accepts and that no other object has claimed (records.isFree).
func (r *reconciler[K, R]) findOrphans(ctx context.Context, p *pass[K, R], i *intent) ([]R, error) {
	all, err := r.namesakes(ctx, p, i.Name)
	if err != nil {
		return nil, err
	}
	uid, objectCreated := p.Object.GetUID(), p.Object.GetCreationTimestamp().Time
	var orphans []R
	for _, one := range all {
		who := r.kind.Identify(one)
		if who.Marker == uid {
			return []R{one}, nil
		}
		made := i.made(who, objectCreated, r.kind.Dated, r.kind.Marked)
		if made && r.engine.records.isFree(p.record, r.resourceOf(p.cloud, who.ID)) {
			orphans = append(orphans, one)
		}
	}
	return orphans, nil
}

// The cloud may still carry out a Create that got no answer. carriedOut is the wait after the answer of a
// proxy that did not wait (Error.Late). unknownEnd is the wait after the attempt of a process that was
// killed. An intent of an earlier release has no intent.Tried: unknownEnd then begins when this process
// finds the intent.
const (
	carriedOut = time.Minute
	unknownEnd = 10 * time.Second
)

// isUnanswered reports whether the cloud may still carry out the last Create. A second Create could make a
// second resource.
func (r *reconciler[K, R]) isUnanswered(p *pass[K, R]) bool {
	now := r.engine.Clock.Now()
	if !p.record.sent && p.record.until.IsZero() {
		p.record.until = now.Add(unknownEnd)
		// The clocks of two machines may differ, so an intent.Tried in the future counts as now. A restart does
		// not begin the wait again: an operator that is killed every few seconds reaches the end of unknownEnd.
		if i := r.intent(p); i != nil && !i.Tried.IsZero() && i.Tried.Before(now) {
			p.record.until = i.Tried.Add(unknownEnd)
		}
	}
	return now.Before(p.record.until)
}

// awaitAnswer polls until the cloud no longer carries out the last Create.
func (r *reconciler[K, R]) awaitAnswer(p *pass[K, R]) reconcile.Outcome {
	// polls.plan puts the last look at memory.until, and not up to 15 s later. Otherwise an operator that is
	// killed every few seconds would never send the last look.
	p.record.polls.plan(r.engine.Clock.Now(), p.record.until)
	p.underway = true
	return r.poll(p, "Waiting for what was asked of %s before: its answer was lost", r.engine.Cloud)
}

// claimLost fails a pass whose Create returned the id of another object's resource. The failure has a
// back-off, so a cloud that always returns the same id is called less and less often.
func (r *reconciler[K, R]) claimLost(id string) reconcile.Outcome {
	return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
		"%s has created %s %s, which belongs to another object already", r.engine.Cloud, r.engine.Noun, id))
}
