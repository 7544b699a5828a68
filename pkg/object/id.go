package object

import (
	"cmp"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ID identifies an object of the Kubernetes API. The zero ID names no object.
type ID struct {
	// Group is empty for the core group.
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Object is the argument of [FromObject]: any typed object, unstructured.Unstructured or
// metav1.PartialObjectMetadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// Of returns the ID of obj, whose group and kind the caller knows. Typed objects
// read from the API server usually carry no TypeMeta, so most callers need Of instead of
// [FromObject]. With metadata.generateName, the name is empty before the object is created.
func Of(obj metav1.Object, gk schema.GroupKind) ID {
	return ID{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// FromObject returns the ID of an object with TypeMeta and a name. Without TypeMeta or
// name, FromObject returns an error.
func FromObject(obj Object) (ID, error) {
	id := Of(obj, obj.GetObjectKind().GroupVersionKind().GroupKind())
	if id.Kind == "" {
		return ID{}, errors.New("identify object: its TypeMeta is empty, so its kind is unknown")
	}
	if id.Name == "" {
		return ID{}, errors.New("identify object of kind " + id.kindAndGroup() + ": it has no name yet")
	}
	return id, nil
}

// Compare orders IDs by group, kind, namespace and name, for [slices.SortFunc].
func Compare(a, b ID) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group),
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// IsZero reports whether the ID is the zero value.
func (id ID) IsZero() bool { return id == ID{} }

// GroupKind returns the group and kind of the object.
func (id ID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// NamespacedName returns the key by which clients get the object.
func (id ID) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}

// String returns the text for people, such as "Cluster.eks.upbound.io/a" or
// "ConfigMap/b in namespace n".
func (id ID) String() string {
	if id.IsZero() {
		return "no object"
	}
	text := id.kindAndGroup() + "/" + id.Name
	if id.Namespace != "" {
		text += " in namespace " + id.Namespace
	}
	return text
}

// Short returns kind and name, such as "Port/web", for texts that have named the group and
// the namespace before.
func (id ID) Short() string {
	if id.IsZero() {
		return "no object"
	}
	return id.Kind + "/" + id.Name
}

// kindAndGroup returns "Kind.group", or "Kind" in the core group.
func (id ID) kindAndGroup() string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}
