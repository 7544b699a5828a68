package external

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A backup contains the finalizers and annotations of an object, but neither status nor metadata.uid. A
// restored object therefore looks new, although its resource exists. Actuator.Create would make a second
// resource, so the condition asks a person (askPerson). The finalizer and the annotation prove nothing,
// because each user with write access to the object can write both. Therefore the finalizer and the
// annotation only prevent a Create, and never cause an adoption.

// isForeign reports whether the intent of an object has another IntentUID than metadata.uid.
func isForeign(group string, obj client.Object) bool {
	uid := IntentUID(group, obj)
	return uid != "" && uid != obj.GetUID()
}

// restoredText begins the condition message of every restored object. The text is published.
const restoredText = "Restored:"

// refuseRestored refuses an object without status.id that has the finalizer or the annotation of another
// object, until a user sets spec.adopt or removes the finalizer and the annotation.
func (r *reconciler[K, R]) refuseRestored(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	_, imported := p.Object.GetImport()
	if imported || !p.managed() || r.knownID(p) != "" || idOf(p.before) != "" || r.intent(p) != nil {
		return reconcile.Outcome{}
	}
	if uid := IntentUID(r.engine.Group, p.Object); isForeign(r.engine.Group, p.Object) {
		return r.askPerson(p, fmt.Sprintf("annotation %s is of an object with uid %s", r.annotation(), uid))
	}
	if !slices.Contains(p.Object.GetFinalizers(), r.finalizer) || p.record.native {
		return reconcile.Outcome{}
	}
	native, err := r.isNative(ctx, p)
	switch {
	case err != nil:
		return reconcile.Fail(condition.ReasonTransientError, err)
	case !native:
		return r.askPerson(p, fmt.Sprintf("finalizer %s was not put on this object by the operator", r.finalizer))
	}
	p.record.native = true
	return reconcile.Outcome{}
}

// askPerson refuses an object with a trace of another object, and says in the condition which fields to
// change.
func (r *reconciler[K, R]) askPerson(p *pass[K, R], trace string) reconcile.Outcome {
	p.record.tried = unsettled // Annotations are no reference.
	return reconcile.Refuse(condition.ReasonInvalidConfiguration,
		"%s %s, which may have created a resource in %s already. "+
			"To take that resource over, set %s. To have another one created, remove finalizer %s and annotation %s",
		restoredText, trace, r.engine.Cloud, r.engine.Adopt, r.finalizer, r.annotation())
}

// isNative reports whether an operator has added the finalizer to this very object. metadata.managedFields
// has the answer, in the entry of fieldOwner: a backup lacks the entry, or the entry is older than
// metadata.creationTimestamp. The cache has no managedFields, so isNative sends a request.
func (r *reconciler[K, R]) isNative(ctx context.Context, p *pass[K, R]) (bool, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(r.kind.GVK.GroupVersion().WithKind(r.kind.GVK.Kind + "List"))
	err := r.engine.Live.List(ctx, all, client.InNamespace(p.Object.GetNamespace()),
		client.MatchingFields{metav1.ObjectNameField: p.Object.GetName()}) // The right to get is not needed.
	if err != nil {
		return false, fmt.Errorf("read who has put the finalizer on: %w", err)
	}
	if len(all.Items) != 1 || all.Items[0].UID != p.Object.GetUID() {
		return false, nil // The watch tells of its end.
	}
	now := &all.Items[0]
	return slices.ContainsFunc(now.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == r.fieldOwner() && f.Operation == metav1.ManagedFieldsOperationApply &&
			f.Time != nil && !f.Time.Before(&now.CreationTimestamp)
	}), nil
}
