package apply

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// ParentAnnotation names the parent of an object without ownerReference (Object.Unowned), as
// "uid/group/kind/namespace/name". Like an ownerReference, the annotation can be written by
// every user who may write the object, and is trusted as little: an Applier only acts on
// objects that are wanted, or in the inventory.
const ParentAnnotation = "kinship.dev/composed-by"

// ParentOf returns the parent of an object: its controller or, if the object has no controller,
// the parent in ParentAnnotation. The result is false if the parent has another kind than gk. A
// parent that is a controller is expected in the namespace of the object.
func ParentOf(obj metav1.Object, gk schema.GroupKind) (object.ID, types.UID, bool) {
	c := metav1.GetControllerOfNoCopy(obj)
	if c == nil {
		id, uid := readParent(obj)
		return id, uid, uid != "" && id.GroupKind() == gk
	}
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: obj.GetNamespace(), Name: c.Name}
	return id, c.UID, err == nil && gv.Group == gk.Group && c.Kind == gk.Kind
}

func setParent(obj metav1.Object, owner metav1.OwnerReference, namespace string) {
	group, _, found := strings.Cut(owner.APIVersion, "/")
	if !found {
		group = "" // "v1" is the core group.
	}
	annotations := map[string]string{}
	maps.Copy(annotations, obj.GetAnnotations())
	annotations[ParentAnnotation] = strings.Join(
		[]string{string(owner.UID), group, owner.Kind, namespace, owner.Name}, "/")
	obj.SetAnnotations(annotations)
}

// readParent returns the parent in ParentAnnotation. The uid is empty if the object has no such
// annotation, or an annotation that can't be read.
func readParent(obj metav1.Object) (object.ID, types.UID) {
	parts := strings.Split(obj.GetAnnotations()[ParentAnnotation], "/")
	if len(parts) != 5 {
		return object.ID{}, ""
	}
	return object.ID{Group: parts[1], Kind: parts[2], Namespace: parts[3], Name: parts[4]}, types.UID(parts[0])
}
