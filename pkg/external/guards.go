package external

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// fieldOwner is the field manager that writes the operator's finalizer and the intent.
func (r *reconciler[K, R]) fieldOwner() string { return r.finalizer + "controller/finalizer" }

func (r *reconciler[K, R]) hasFinalizer(p *pass[K, R]) bool {
	return slices.Contains(p.Object.GetFinalizers(), r.finalizer)
}

// restoreFinalizers restores finalizers that a user removed: the operator's own finalizer on the object,
// and the guards on the targets (engine.Engine.Hold). For an object without status.id and without intent, no
// creation has begun, and restoreFinalizers does nothing.
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

// guardTargets adds guards to the targets, and the operator's finalizer to the object. Before a creation
// (pass.creates), recordAttempt writes the finalizer and the intent in a single request.
func (r *reconciler[K, R]) guardTargets(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if o := r.engine.core.Hold(ctx, p.Refs); !o.IsDone() {
		return o
	}
	if r.hasFinalizer(p) || p.creates() {
		return reconcile.Outcome{}
	}
	return r.writeFinalizer(ctx, p, r.intent(p))
}

// creates reports whether the object needs a new resource: no status.id, no spec.import, and not
// Unmanaged.
func (p *pass[K, R]) creates() bool {
	_, imports := p.Object.GetImport()
	return !imports && p.managed() && idOf(p.Object) == ""
}

func isOwner(rel relation.Relation) bool { return rel.Role == relation.Owner }

// setOwners adds owner references for relations with relation.Owner. The references have the uid of the
// owner, so that Kubernetes deletes the object with its owner. Before a creation (pass.creates),
// applyFinalizer writes the owner references and the intent in a single request.
func (r *reconciler[K, R]) setOwners(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !r.hasOwners() {
		return reconcile.Outcome{}
	}
	if !p.creates() {
		return r.engine.core.Own(ctx, r.ownerWriter(), r.kind.GVK.GroupKind(), p.Object, p.Refs)
	}
	before := p.Object.DeepCopyObject().(K)
	o := r.engine.core.SetOwners(p.Object, p.Refs)
	same := equality.Semantic.DeepEqual(before.GetOwnerReferences(), p.Object.GetOwnerReferences()) &&
		maps.Equal(before.GetLabels(), p.Object.GetLabels())
	if o.IsDone() && !same {
		p.unowned = before
	}
	return o
}

// hasOwners reports whether a relation of the kind has role relation.Owner.
func (r *reconciler[K, R]) hasOwners() bool { return slices.ContainsFunc(r.kind.Relations, isOwner) }

// copyOwners copies the owner references and labels of setOwners to u, the object for the apply.
func (r *reconciler[K, R]) copyOwners(u *unstructured.Unstructured, p *pass[K, R]) {
	if r.hasOwners() {
		r.engine.core.CopyOwners(u, r.kind.GVK.GroupKind(), p.Object)
	}
}

func (r *reconciler[K, R]) ownerWriter() *reconcile.Writer {
	return &reconcile.Writer{Client: r.engine.Live, FieldOwner: r.finalizer + "controller/owner", Writes: &r.writes}
}

// writeOwners writes the owner references of a pass that ended before the intent (pass.unowned), so that a
// refused object is deleted with its owner too. For an object that waits for a turn (pass.parked), a later
// pass writes the references.
func (r *reconciler[K, R]) writeOwners(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if p.unowned == nil || (p.parked && !p.unanswered) {
		return reconcile.Outcome{}
	}
	_, err := r.ownerWriter().Object(ctx, p.id, p.unowned, p.Object)
	p.unowned = nil
	return reconcile.Fail(condition.ReasonTransientError, err)
}

// writeFinalizer writes the operator's finalizer and an intent (applyFinalizer). If the object has the
// finalizer already, writeFinalizer writes only the intent (patchIntent).
func (r *reconciler[K, R]) writeFinalizer(ctx context.Context, p *pass[K, R], i *intent) reconcile.Outcome {
	var text *string
	if i != nil {
		content, err := json.Marshal(i)
		if err != nil {
			return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("record the intent: %w", err))
		}
		text = new(string(content))
	}
	write := r.applyFinalizer
	if r.hasFinalizer(p) && p.unowned == nil {
		write = r.patchIntent
	}
	u := guard.Partial(r.kind.GVK, p.Object)
	if err := write(ctx, p, u, text); err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("write the finalizer: %w", err))
	}
	r.writes.Wrote(p.id, u.GetResourceVersion())
	p.record.began, p.record.native, p.unowned = i, true, nil
	now, err := r.typed(u)
	if err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("read what the finalizer was written to: %w", err))
	}
	another := idOf(now) != idOf(p.before) || now.GetGeneration() != p.Object.GetGeneration()
	if another || !slices.Contains(u.GetFinalizers(), r.finalizer) {
		return r.refresh() // Another client wrote before. The watch brings that version.
	}
	p.Object.SetFinalizers(u.GetFinalizers())
	p.Object.SetAnnotations(u.GetAnnotations())
	return reconcile.Outcome{}
}

// applyFinalizer writes the finalizer, an intent, and the owner references. With owner references, the
// apply carries metadata.resourceVersion, and fails if another client has changed the object meanwhile.
// For example, the garbage collector may have removed an owner reference, to keep the object without its
// owner.
func (r *reconciler[K, R]) applyFinalizer(
	ctx context.Context, p *pass[K, R], u *unstructured.Unstructured, intent *string,
) error {
	u.SetFinalizers([]string{r.finalizer})
	if r.copyOwners(u, p); len(u.GetOwnerReferences()) > 0 {
		u.SetResourceVersion(p.Object.GetResourceVersion())
	}
	if intent != nil {
		u.SetAnnotations(map[string]string{r.annotation(): *intent})
	}
	return r.engine.Live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.fieldOwner()), client.ForceOwnership)
}

// patchIntent writes an intent, or removes the annotation if intent is nil. A patch contains only
// metadata.uid and the annotation, and costs the API server less than an apply.
func (r *reconciler[K, R]) patchIntent(
	ctx context.Context, p *pass[K, R], u *unstructured.Unstructured, intent *string,
) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.Object.GetUID(), "annotations": map[string]any{r.annotation(): intent},
	}})
	if err != nil {
		return err
	}
	return r.engine.Live.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(r.fieldOwner()))
}

// typed converts an object to the Go type K of the kind.
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

// refreshes is the published message of a status that the next pass writes again.
const refreshes = "Resource status will be refreshed"

// refresh waits until the cache shows the latest version of the object.
func (r *reconciler[K, R]) refresh() reconcile.Outcome {
	return reconcile.WaitForCache(condition.ReasonProgressing, refreshes)
}

// endIfReleased ends the pass of a deleted object without the operator's finalizer. The watch may be late
// to show that removeFinalizer removed the finalizer (memory.isReleased). Without endIfReleased, such a
// pass would call Actuator.Delete again.
func (r *reconciler[K, R]) endIfReleased(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	p.gone = !r.hasFinalizer(p) || p.record.isReleased(p.Object.GetResourceVersion())
	return reconcile.Outcome{}
}

// removeFinalizer removes the operator's finalizer from a deleted object.
func (r *reconciler[K, R]) removeFinalizer(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	u := guard.Partial(r.kind.GVK, p.Object)
	r.copyOwners(u, p)
	err := r.engine.Live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.fieldOwner()), client.ForceOwnership)
	if err == nil && slices.Contains(u.GetFinalizers(), r.finalizer) {
		// A user's manifest that contains the finalizer owns the finalizer too.
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
