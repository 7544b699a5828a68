package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// intent is recorded in [IntentAnnotation] before Actuator.Create.
type intent struct {
	// UID is metadata.uid of the object: a copy of the annotation means nothing on another object.
	UID  types.UID `json:"uid"`
	Time time.Time `json:"time"`
	Name string    `json:"name"`
	// Tried is the time just before the last Actuator.Create. An intent of an earlier release has no Tried.
	Tried time.Time `json:"tried,omitzero"`
	// Before lists the ids of resources that had the name before the attempt, for kinds without [Kind.Dated]
	// and without [Kind.Marked].
	Before []string `json:"before,omitempty"`
	// Place is [Access.Place] of the attempt.
	Place string `json:"place,omitempty"`
	// Replaces is status.id of the deleted resource that the new resource replaces.
	Replaces string `json:"replaces,omitempty"`
	// Operation is the argument of [Resumer.Resume].
	Operation string `json:"operation,omitempty"`
	// Cloud and Serial are the cloudKey that the attempt has reserved (serial.go).
	Cloud  string `json:"cloud,omitempty"`
	Serial string `json:"serial,omitempty"`
}

// IntentAnnotation returns the annotation with the intent for objects of a group, such as
// example.com/creation-intent.
func IntentAnnotation(group string) string { return group + "/creation-intent" }

// IntentUID returns intent.UID from an object's annotations. Without an intent, IntentUID returns "".
func IntentUID(group string, obj client.Object) types.UID {
	if i := intentOf(group, obj); i != nil {
		return i.UID
	}
	return ""
}

// intentOf returns the intent in an object's annotations, or nil.
func intentOf(group string, obj client.Object) *intent {
	i := &intent{}
	if json.Unmarshal([]byte(obj.GetAnnotations()[IntentAnnotation(group)]), i) != nil {
		return nil
	}
	return i
}

// sameAs reports whether an earlier intent has the same Name and Place. The earlier intent then serves to
// find the resource of any attempt (recordAttempt).
func (i *intent) sameAs(earlier *intent) bool {
	return earlier != nil && earlier.Name == i.Name && earlier.Place == i.Place
}

func (r *reconciler[K, R]) annotation() string { return IntentAnnotation(r.engine.Group) }

// intent returns the intent of an attempt whose end is not recorded in status.id, or nil.
func (r *reconciler[K, R]) intent(p *pass[K, R]) *intent {
	// memory.began comes first: a user may have replaced the annotation, or the API server may have rejected
	// the last write.
	if r.counts(p, p.record.began) {
		return p.record.began
	}
	if i := intentOf(r.engine.Group, p.Object); r.counts(p, i) {
		return i
	}
	return nil
}

// counts reports whether an intent belongs to the object (intent.UID), and to the resource that the object
// lacks (intent.Replaces).
func (r *reconciler[K, R]) counts(p *pass[K, R], i *intent) bool {
	return i != nil && i.UID == p.Object.GetUID() && i.Replaces == idOf(p.before)
}

// newIntent returns an intent to create the object's resource now.
func (r *reconciler[K, R]) newIntent(p *pass[K, R]) *intent {
	now, place := r.engine.Clock.Now().UTC(), r.serialKey(p)
	return &intent{
		UID: p.Object.GetUID(), Time: now.Truncate(time.Second), Tried: now,
		Name: r.kind.Name(p.Object), Place: p.place, Replaces: idOf(p.before),
		Cloud: place.cloud, Serial: place.key,
	}
}

// clockSkew bounds by how much the cloud's clock may be behind the operator's clock.
const clockSkew = 2 * time.Minute

// made reports whether the attempt of an intent may have created a resource without a mark
// (Identity.Marker). A user could write an intent with an early intent.Time, so made uses
// metadata.creationTimestamp of the object as a lower bound.
func (i *intent) made(who Identity, objectCreated time.Time, dated, marked bool) bool {
	switch {
	case marked || who.Marker != "":
		return false
	case dated:
		since := i.Time
		if objectCreated.After(since) {
			since = objectCreated
		}
		return who.Created.After(since.Add(-clockSkew))
	default:
		return !slices.Contains(i.Before, who.ID)
	}
}

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
