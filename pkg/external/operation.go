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
