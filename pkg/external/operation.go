package external

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// maxOperation bounds the Operation that an object records.
const maxOperation = 4096

// recordOperation records the operation that a Create has begun, and waits for its end.
func (r *reconciler[K, R]) recordOperation(ctx context.Context, p *pass[K, R], begun error) reconcile.Outcome {
	p.verdict.answered = true
	known, _ := errors.AsType[*Error](begun)
	i := *r.intent(p)
	if i.Operation = known.Operation; len(i.Operation) > maxOperation {
		p.record.until = r.engine.Clock.Now().Add(carriedOut)
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf(
			"%s began an operation whose name has %d bytes, more than %d", r.engine.Cloud, len(i.Operation), maxOperation))
	}
	p.record.began = &i // Another creation would be a second one, also if this write fails.
	if o := r.writeFinalizer(ctx, p, &i); !o.IsDone() {
		return o
	}
	p.record.polls = polls{}
	return r.awaitOperation(p, begun, "created")
}

// resume calls Resumer.Resume for the operation of an attempt. resume returns nil if the operation has
// succeeded, or if the intent has no Operation.
func (r *reconciler[K, R]) resume(ctx context.Context, p *pass[K, R], i *intent) error {
	resumer, ok := p.actuator.(Resumer[K])
	if !ok || i.Operation == "" {
		return nil
	}
	return resumer.Resume(ctx, p.Input, i.Operation)
}

// hasEnded reports whether the answer of Resume says that the operation has ended.
func hasEnded(err error) bool {
	return err == nil || isClass(err, Invalid) || isClass(err, Refused) || isClass(err, Missing)
}

// awaitOperation waits until the operation is to be asked for again: when the cloud said so, or as
// poll does.
func (r *reconciler[K, R]) awaitOperation(p *pass[K, R], pending error, verb string) reconcile.Outcome {
	if known, ok := errors.AsType[*Error](pending); ok && known.After > 0 {
		return reconcile.WaitFor(min(known.After, longestAsked), condition.ReasonProgressing,
			"Waiting for %s to be %s", r.engine.Noun, verb)
	}
	return r.poll(p, "Waiting for %s to be %s", r.engine.Noun, verb)
}
