package relation

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Object is the part of an object's metadata that relations need.
type Object struct {
	ID         object.ID
	UID        types.UID
	Labels     map[string]string
	Controller types.UID // of the controller owner, if any
	Deleting   bool
	Version    string // resourceVersion
	Generation int64  // of the spec
	Created    metav1.Time
	// Content is the part of the object that [Watcher.Keep] keeps, or nil. Content belongs to the
	// store: a caller MUST NOT change it.
	Content client.Object
}

// ObjectOf returns the [Object] of a Kubernetes object of a kind.
func ObjectOf(gk schema.GroupKind, obj metav1.Object) Object {
	o := Object{
		ID:         object.Of(obj, gk),
		UID:        obj.GetUID(),
		Labels:     obj.GetLabels(),
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Version:    obj.GetResourceVersion(),
		Generation: obj.GetGeneration(),
		Created:    obj.GetCreationTimestamp(),
	}
	if c := metav1.GetControllerOfNoCopy(obj); c != nil {
		o.Controller = c.UID
	}
	return o
}

// OlderFirst orders objects by creationTimestamp, then by [object.ID]. If several objects
// match, the first in this order is chosen.
func OlderFirst(a, b Object) int {
	if c := a.Created.Compare(b.Created.Time); c != 0 {
		return c
	}
	return object.Compare(a.ID, b.ID)
}

// Selector selects objects by labels, by controller owner, or by both.
type Selector struct {
	// Labels are the matchLabels of the selector: an object must have all.
	Labels map[string]string
	// Where, if set, must match the labels of an object. [labels.Everything] matches every
	// object.
	Where labels.Selector
	// Controller is the UID that an object's controller owner must have.
	Controller types.UID
}

// Matches reports whether the selector selects an object. A zero [Selector] selects nothing: a
// mistake must not select every object of a kind.
func (s *Selector) Matches(obj Object) bool {
	if len(s.Labels) == 0 && s.Controller == "" && s.Where == nil {
		return false
	}
	if s.Controller != "" && s.Controller != obj.Controller {
		return false
	}
	if s.Where != nil && !s.Where.Matches(labels.Set(obj.Labels)) {
		return false
	}
	for k, v := range s.Labels {
		if have, ok := obj.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// equal reports whether two selectors select the same objects ([Ref.Equal]).
func (s *Selector) equal(other *Selector) bool {
	return s.Controller == other.Controller && maps.Equal(s.Labels, other.Labels) &&
		(s.Where == nil) == (other.Where == nil) && (s.Where == nil || s.Where.String() == other.Where.String())
}

// String returns the selector for messages, with its labels in order: "app=web,tier=db".
func (s *Selector) String() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		parts = append(parts, k+"="+s.Labels[k])
	}
	if s.Where != nil {
		parts = append(parts, cmp.Or(s.Where.String(), "everything"))
	}
	if s.Controller != "" {
		parts = append(parts, "the same controller")
	}
	return strings.Join(parts, ",")
}
