package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// fieldOwner is the field manager that writes the operator's finalizer.
func (r *reconciler[K, R]) fieldOwner() string { return r.finalizer + "controller/finalizer" }

func (r *reconciler[K, R]) hasFinalizer(p *pass[K, R]) bool {
	return slices.Contains(p.Object.GetFinalizers(), r.finalizer)
}

// restoreFinalizers puts back finalizers that a person removed: the operator's own, and the guards
// on targets.
func (r *reconciler[K, R]) restoreFinalizers(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	var outcome reconcile.Outcome
	if idOf(p.Object) == "" && r.intent(p) == nil {
		return outcome // Nothing was begun.
	}
	if !r.hasFinalizer(p) {
		outcome = r.writeFinalizer(ctx, p, r.intent(p))
	}
	return outcome.And(r.engine.core.Hold(ctx, p.Refs))
}

// guardTargets puts guards on the targets, and the operator's finalizer on the object. Before a
// creation the finalizer comes with the intent, in one request.
func (r *reconciler[K, R]) guardTargets(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if o := r.engine.core.Hold(ctx, p.Refs); !o.IsDone() {
		return o
	}
	_, imports := p.Object.GetImport()
	creates := !imports && p.managed() && idOf(p.Object) == ""
	if r.hasFinalizer(p) || creates {
		return reconcile.Outcome{}
	}
	return r.writeFinalizer(ctx, p, r.intent(p))
}

func isOwner(rel relation.Relation) bool { return rel.Role == relation.Owner }

// setOwners adds the owner references of relations with role Owner, with the uids of the owners:
// Kubernetes deletes the object with its owner.
func (r *reconciler[K, R]) setOwners(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !slices.ContainsFunc(r.kind.Relations, isOwner) {
		return reconcile.Outcome{}
	}
	w := reconcile.Writer{Client: r.engine.Live, FieldOwner: r.finalizer + "controller/owner", Writes: &r.writes}
	return r.engine.core.Own(ctx, &w, r.kind.GVK.GroupKind(), p.Object, p.Refs)
}

// writeFinalizer puts the operator's finalizer on the object, together with an intent.
func (r *reconciler[K, R]) writeFinalizer(ctx context.Context, p *pass[K, R], i *intent) reconcile.Outcome {
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
	p.record.began, p.record.native = i, true
	now, err := r.typed(u)
	if err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("read what the finalizer was written to: %w", err))
	}
	if idOf(now) != idOf(p.before) || now.GetGeneration() != p.Object.GetGeneration() {
		return r.refresh() // Another client wrote before. The watch brings that version.
	}
	p.Object.SetFinalizers(u.GetFinalizers())
	p.Object.SetAnnotations(u.GetAnnotations())
	return reconcile.Outcome{}
}

// typed returns an object as the Go type of the kind.
func (r *reconciler[K, R]) typed(u *unstructured.Unstructured) (K, error) {
	obj := r.empty()
	if adapter, ok := any(obj).(watch.Adapter); ok {
		adapted, err := adapter.Adapt(u)
		if err != nil {
			return obj, err
		}
		return adapted.(K), nil
	}
	return obj, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
}

// refreshes is the published text for a status that is written again in a moment.
const refreshes = "Resource status will be refreshed"

// refresh waits until the cache shows the object as it is now.
func (r *reconciler[K, R]) refresh() reconcile.Outcome {
	return reconcile.WaitForCache(condition.ReasonProgressing, refreshes)
}

// endIfReleased ends the pass of a deleted object that does not wait for the operator: the object
// has not the finalizer, or had it taken off and the watch is late to show that. Without this
// step the resource would be deleted once more.
func (r *reconciler[K, R]) endIfReleased(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	p.gone = !r.hasFinalizer(p) || p.record.isReleased(p.Object.GetResourceVersion())
	return reconcile.Outcome{}
}

// removeFinalizer takes the operator's finalizer off a deleted object.
func (r *reconciler[K, R]) removeFinalizer(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	u := guard.Partial(r.kind.GVK, p.Object)
	err := r.engine.Live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.fieldOwner()), client.ForceOwnership)
	if err == nil && slices.Contains(u.GetFinalizers(), r.finalizer) {
		// A manifest that was applied or replaced owns the finalizer too.
		before := u.DeepCopy()
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == r.finalizer }))
		err = r.engine.Live.Patch(ctx, u, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	switch {
	case err == nil:
		p.record.releasedAt = u.GetResourceVersion()
	case !apierrors.IsNotFound(err):
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("remove the finalizer: %w", err))
	}
	if r.kind.Shared == nil { // Late events would count the object as a user again.
		r.engine.records.drop(p.record) // Another object may import a resource that was left behind.
	}
	r.alter(p)
	p.gone = true
	return reconcile.Outcome{}
}
