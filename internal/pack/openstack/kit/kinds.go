package kit

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Group is the API group of the pack, and the prefix of all its finalizers.
var Group = openstackv1alpha1.GroupVersion.Group

// SecretKind is the kind of the objects with credentials.
var SecretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// KindOf returns the name of the kind with the Go type K: the scheme names a kind after its type.
func KindOf[K external.Object]() string { return reflect.TypeFor[K]().Elem().Name() }

// GVK returns the GroupVersionKind of a kind of the pack.
func GVK(kind string) schema.GroupVersionKind { return openstackv1alpha1.GroupVersion.WithKind(kind) }

// GK returns the GroupKind of a kind of the pack.
func GK(kind string) schema.GroupKind { return GVK(kind).GroupKind() }

// Finalizer returns the finalizer of a kind: Subnet has openstack.k-orc.cloud/subnet, on
// Subnets and as guard on Networks.
func Finalizer(kind string) string { return Group + "/" + strings.ToLower(kind) }

// Credentialed is an object with spec.cloudCredentialsRef.
type Credentialed interface {
	external.Object
	GetCommonSpec() *openstackv1alpha1.CommonSpec
}

// realmOf returns a key within which IDs chosen by users (names of key pairs, IDs of flavors) are
// unique: one per credentials.
func realmOf[K Credentialed](obj K) string {
	ref := obj.GetCommonSpec().CloudCredentialsRef
	return obj.GetNamespace() + "/" + ref.SecretName + "/" + ref.CloudName
}

// ID returns the resource ID for an optional reference.
func ID[K external.Object, S ~string](in external.Input[K], kind string, name *S) *string {
	if name == nil {
		return nil
	}
	id := in.Refs.ID(GK(kind), string(*name))
	return &id
}
