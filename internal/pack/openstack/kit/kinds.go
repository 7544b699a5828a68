package kit

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Group is the pack's API group, and the prefix of all its finalizers.
var Group = openstackv1alpha1.GroupVersion.Group

// SecretKind is the kind that credentials are in.
var SecretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// GVK returns a kind of the pack.
func GVK(kind string) schema.GroupVersionKind { return openstackv1alpha1.GroupVersion.WithKind(kind) }

// GK returns a kind of the pack without its version.
func GK(kind string) schema.GroupKind { return GVK(kind).GroupKind() }

// Finalizer returns what a kind holds objects by that it refers to.
func Finalizer(kind string) string { return Group + "/" + strings.ToLower(kind) }

// Credentialed is an object that names its credentials.
type Credentialed interface {
	external.Object
	GetCommonSpec() *openstackv1alpha1.CommonSpec
}

// Realm returns what ids that people chose are unique in: what an object's
// credentials lead to.
func Realm[K Credentialed](obj K) string {
	ref := obj.GetCommonSpec().CloudCredentialsRef
	return obj.GetNamespace() + "/" + ref.SecretName + "/" + ref.CloudName
}

// ID returns the id of the resource that an optional reference stands for.
func ID[K external.Object, S ~string](in external.Input[K], kind string, name *S) *string {
	if name == nil {
		return nil
	}
	id := in.Refs.ID(GK(kind), string(*name))
	return &id
}
