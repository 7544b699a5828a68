package object

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IsOwnedBy reports whether metadata.ownerReferences of an object has the uid of an owner. An owner reference
// without `controller: true` counts too.
func IsOwnedBy(obj metav1.Object, owner types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner })
}
