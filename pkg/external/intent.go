package external

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// intent is recorded before a resource is created.
type intent struct {
	// UID is that of the object: a copy of the annotation means nothing to another object.
	UID  types.UID `json:"uid"`
	Time time.Time `json:"time"`
	Name string    `json:"name"`
	// Tried is when the last attempt was about to be sent. An intent of an earlier release has
	// none.
	Tried time.Time `json:"tried,omitzero"`
	// Before are the ids of resources that had the name already, for kinds that are neither
	// Dated nor Marked.
	Before []string `json:"before,omitempty"`
	// Place is where the resource is created.
	Place string `json:"place,omitempty"`
	// Replaces is the id of the resource that was gone.
	Replaces string `json:"replaces,omitempty"`
	// Operation is what the attempt is resumed by ([Resumer]).
	Operation string `json:"operation,omitempty"`
	// Cloud and Serial are what the attempt has reserved (serial.go).
	Cloud  string `json:"cloud,omitempty"`
	Serial string `json:"serial,omitempty"`
}

// IntentAnnotation returns the annotation in which objects of a group record what is about to
// be created.
func IntentAnnotation(group string) string { return group + "/creation-intent" }

// IntentUID returns the uid of the object that the creation intent in an object's annotations
// was recorded for. It is empty where there is no intent.
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

// sameAs reports whether an earlier intent is to create the same resource. Then the earlier
// intent serves to find what any attempt has created.
func (i *intent) sameAs(earlier *intent) bool {
	return earlier != nil && earlier.Name == i.Name && earlier.Place == i.Place
}

func (r *reconciler[K, R]) annotation() string { return IntentAnnotation(r.engine.Group) }

// intent returns the intent of an attempt whose end is not recorded in the status, or nil.
func (r *reconciler[K, R]) intent(p *pass[K, R]) *intent {
	// A person may have replaced the annotation, or the API server did not take the last one.
	if r.counts(p, p.record.began) {
		return p.record.began
	}
	if i := intentOf(r.engine.Group, p.Object); r.counts(p, i) {
		return i
	}
	return nil
}

// counts reports whether an intent is the object's, for the resource that the object lacks.
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

// clockSkew is by how much the clock of the cloud may be behind the operator's clock.
const clockSkew = 2 * time.Minute

// made reports whether the attempt of an intent may have created a resource that has not the
// mark of an object. A person could write an intent, so that the creation of the object bounds
// the time of the intent.
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
