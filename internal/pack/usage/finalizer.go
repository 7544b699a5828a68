package usage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// removeFinalizer removes the finalizer; then the API server deletes the Usage.
func (r *reconciler) removeFinalizer(ctx context.Context, p *pass) reconcile.Outcome {
	if p.memory.finalized || !finalizer.Remove(p.usage) {
		return reconcile.Outcome{}
	}
	_, err := r.writer.Object(ctx, p.id, p.seen, p.usage)
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	p.memory.finalized = true
	r.memories.Store(p.id, p.memory)
	if err != nil {
		return reconcile.Outcome{} // A former operator removed the finalizer and recorded the events.
	}
	if bound := p.UsageStatus().Using; bound != nil {
		// The garbage collector may have deleted the Usage before usingDeleted did.
		obj, presence := r.watcher.Get(boundID(bound))
		if presence != relation.Unknown && obj.UID != bound.UID {
			r.recordEnded(p, bound)
		}
	}
	r.metrics.releases.Observe(max(r.clock.Since(p.GetDeletionTimestamp().Time), 0).Seconds())
	return reconcile.Outcome{}
}

// recordEnded records an event on the used object: its protection has ended because the using
// object was deleted. endedEvents limits how many such events there are.
func (r *reconciler) recordEnded(p *pass, using *boundObject) {
	ref := r.usedReference(p)
	if ref == nil {
		return
	}
	target, _ := refOf(p.usage, &p.UsageSpec().Of, r.watcher)
	if obj, presence := r.watcher.Get(target.ID); presence == relation.Present {
		ref.UID = obj.UID
	}
	r.ended.record(target.Namespace, ref, p.usage,
		fmt.Sprintf("%s was deleted, for which %s protected this object", boundID(using).Short(), p.id))
}
