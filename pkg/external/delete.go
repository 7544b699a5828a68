package external

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// remainder lists the facts about the resource of a deleted object.
type remainder struct {
	managed  bool
	detached bool // managedOptions.onDelete is detach
	known    bool // the id is known
	intended bool // an attempt may have created a resource
	refused  bool // the cloud refused the last attempt
	shared   bool // other objects have the same resource
	missing  bool // the cloud has no resource of the known id
	accepted bool // the cloud has accepted the deletion
	postpone bool // the resource was busy a moment ago
}

// removal is the next action for the resource of a deleted object (remainder.decide).
type removal int

const (
	keepResource    removal = iota // or there is none
	leaveToOthers                  // the objects that share the resource
	deleteKnown                    // resource
	awaitBusy                      // until the deletion is tried again
	awaitGone                      // until the deletion that was accepted is carried out
	deleteAttempted                // what an attempt to create may have left
)

// decide decides how the resource of a deleted object is removed, or that the resource is kept.
func (f remainder) decide() removal {
	attempted := f.intended && !f.refused
	switch {
	case !f.managed || f.detached || (!f.known && !f.intended):
		return keepResource
	case f.known && !f.shared && !f.missing:
		return f.decideKnown()
	case attempted:
		return deleteAttempted
	case f.known && f.shared:
		return leaveToOthers
	default:
		return keepResource
	}
}

// decideKnown decides about a resource with a known id that no other object shares.
func (f remainder) decideKnown() removal {
	switch {
	case f.accepted:
		return awaitGone
	case f.postpone:
		return awaitBusy
	default:
		return deleteKnown
	}
}

// remainder returns the known facts about the object's resource. deleteResource and removeResource add
// remainder.shared and remainder.missing.
func (r *reconciler[K, R]) remainder(p *pass[K, R]) remainder {
	return remainder{
		managed: p.managed(), detached: isDetached(p.Object),
		known: r.knownID(p) != "", intended: r.intent(p) != nil, refused: p.record.refused, missing: r.wentWithOwner(p),
		accepted: p.record.deleting.Load(), postpone: r.untilFree(p) > 0,
	}
}

// restoreGuards restores guards that a user removed from targets which the deletion needs, such as the
// Secret with the credentials.
func (r *reconciler[K, R]) restoreGuards(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.remainder(p).decide() == keepResource {
		return reconcile.Outcome{}
	}
	r.resolve(p, r.knownID(p) != "" && r.intent(p) == nil)
	return r.engine.core.Hold(ctx, p.Refs)
}

// dissolve calls [Kind.Dissolve], which deletes the objects of [Kind.Compose].
func (r *reconciler[K, R]) dissolve(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.kind.Dissolve == nil {
		return reconcile.Outcome{}
	}
	return r.kind.Dissolve(ctx, p.Object)
}

// deleteResource deletes the resource with the known id, and the resource of an attempt whose end is not
// recorded (intent), including an attempt to replace a deleted resource (intent.Replaces).
func (r *reconciler[K, R]) deleteResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	facts := r.remainder(p)
	if facts.decide() == keepResource {
		return reconcile.Outcome{}
	}
	r.resolve(p, facts.known && !facts.intended) // A stray did not come by restoreGuards.
	if !facts.intended {
		facts.shared = r.leavesToOthers(p, r.knownID(p))
	}
	if facts.decide() == leaveToOthers {
		return reconcile.Outcome{} // Without credentials.
	}
	o := reconcile.Run(ctx, p, step[K, R]{Name: "connect", Run: r.connect},
		step[K, R]{Name: "removeResource", Run: r.removeResource})
	if !o.IsDone() {
		return missing(p.Refs, again(o))
	}
	return reconcile.Outcome{}
}

// removeResource deletes the resource with the known id, then the resource that findAttempt finds.
func (r *reconciler[K, R]) removeResource(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	facts, id := r.remainder(p), r.knownID(p)
	facts.shared = r.leavesToOthers(p, id)
	switch facts.decide() {
	case awaitGone, awaitBusy, deleteKnown:
		gone, o := r.deleteOne(ctx, p, id, facts.decide())
		if o.IsDone() {
			r.recordEnd(p, id)
		}
		if !gone || !o.IsDone() {
			return o
		}
		facts.missing = true
	case keepResource, leaveToOthers, deleteAttempted:
	}
	if facts.decide() != deleteAttempted {
		return reconcile.Outcome{}
	}
	resource, found, o := r.findAttempt(ctx, p)
	if !found || !o.IsDone() {
		return o
	}
	id = r.kind.Identify(resource).ID
	if r.leavesToOthers(p, id) {
		return reconcile.Outcome{}
	}
	next := remainder{managed: true, known: true, accepted: p.record.deleting.Load(), postpone: r.untilFree(p) > 0}
	if _, o = r.deleteOne(ctx, p, id, next.decide()); o.IsDone() {
		r.recordEnd(p, id)
	}
	return o
}

// deleteOne calls Actuator.Delete for a resource, or waits (lookForEnd, awaitFree). gone says that the
// cloud has no such resource.
func (r *reconciler[K, R]) deleteOne(
	ctx context.Context, p *pass[K, R], id string, next removal,
) (gone bool, o reconcile.Outcome) {
	if o := r.refuseNamesake(p); !o.IsDone() {
		return false, o
	}
	if next == awaitGone {
		return r.lookForEnd(ctx, p, id)
	}
	if next == awaitBusy {
		return false, r.awaitFree(p)
	}
	if gone, ends, o := r.lookFirst(ctx, p, id); ends {
		return gone, o
	}
	if o := r.awaitChange(p); !o.IsDone() {
		return false, o
	}
	err := r.callDelete(ctx, p, id)
	switch {
	case isClass(err, Missing):
		return true, r.refuseMoved(p)
	case isClass(err, Busy):
		return false, r.wasBusy(p, err)
	case isClass(err, Pending), err == nil && r.kind.Lingers:
		p.record.deleting.Store(true)
		p.record.polls = polls{}
		return false, r.deleteEarly(ctx, p, r.awaitOperation(p, err, condition.ReasonDeleting, "deleted"))
	case err != nil:
		return false, r.failed(p, err)
	}
	r.announceDeletion(p, id)
	return false, reconcile.Outcome{}
}

// lookForEnd calls Actuator.Get to find out whether an accepted deletion has ended. gone says that the
// cloud no longer has the resource.
func (r *reconciler[K, R]) lookForEnd(ctx context.Context, p *pass[K, R], id string) (gone bool, o reconcile.Outcome) {
	if o := r.awaitAsked(p, condition.ReasonDeleting, "deleted"); !o.IsDone() {
		return false, o
	}
	resource, err := r.get(ctx, p, id)
	if !isClass(err, Missing) {
		return false, r.awaitGone(p, resource, err)
	}
	o = r.refuseMoved(p)
	if o.IsDone() {
		r.announceDeletion(p, id)
	}
	return true, o
}

// callDelete calls Actuator.Delete. If the cloud refuses, records.allowUse lets other objects join the
// shared resource again.
func (r *reconciler[K, R]) callDelete(ctx context.Context, p *pass[K, R], id string) error {
	used := r.engine.usedBy(p.cloud, p.id, p.status().ObservedDependencies)
	r.engine.records.beginDeletion(p.record, r.resourceOf(p.cloud, id), used)
	err := p.actuator.Delete(ctx, p.Input, id)
	p.verdict.answered = p.verdict.answered || err == nil || isClass(err, Pending)
	r.observer.changed(p.scope)
	if !isClass(err, Busy) {
		p.record.busy = refusal{}
	}
	if wasAnswered(err) && !isClass(err, Missing) {
		r.engine.records.allowUse(p.record)
	}
	return err
}

// awaitGone waits until a resource whose deletion was accepted is Missing. If the deletion failed
// (Kind.Observe returns Invalid), the next pass calls Delete again.
func (r *reconciler[K, R]) awaitGone(p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	state := r.kind.Observe(p.Object.DeepCopyObject().(K), resource)
	if state.Worst().State == reconcile.Invalid {
		p.record.deleting.Store(false)
		return state
	}
	p.underway = true
	return r.pollFor(p, condition.ReasonDeleting, "Waiting for %s to be deleted", r.engine.Noun)
}

// missing adds the missing targets to a failed deletion, because a missing target may be the reason of the
// failure. For example, Delete fails without Secret/credentials. Targets that exist need not be ready.
func missing(refs Refs, o reconcile.Outcome) reconcile.Outcome {
	if o.Worst().State != reconcile.Failed {
		return o
	}
	var waiting reconcile.Outcome
	credentials := false
	for _, t := range refs.Targets() {
		if t.Object() == nil {
			waiting = waiting.And(reconcile.Wait(condition.ReasonProgressing,
				"Waiting for %s to be created", t.ID().Short()))
			credentials = credentials || t.IsMetadata()
		}
	}
	if _, err := o.Result(); apierrors.IsNotFound(err) && credentials {
		return waiting // A watch tells when the Secret is there.
	}
	return waiting.And(o)
}

// again turns reconcile.Invalid into a reconcile.Fail with retries, because a deleted object can't end
// before its resource.
func again(o reconcile.Outcome) reconcile.Outcome {
	if worst := o.Worst(); worst.State == reconcile.Invalid {
		return reconcile.Fail(condition.ReasonTransientError, errors.New(worst.Message))
	}
	return o
}
