package kit

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/relation"
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

// Waits returns the relation of objects that wait for those that they name, until
// their own resources are made, or found by them.
func Waits[K client.Object](source, target, field string, names func(K) Refs) relation.Relation {
	r := refers(source, target, field, names)
	r.Once = true
	r.Doc = "Every " + source + " waits for the " + target + " that " + field + " names, until its resource is known."
	return r
}

// refers returns what all relations have in common.
func refers[K client.Object](source, target, field string, names func(K) Refs) relation.Relation {
	return relation.Relation{
		Name: strings.ToLower(source) + "/" + field, Role: relation.Dependency, Declarer: GK(source),
		Target: kindOf(target), Field: field,
		Doc: "Every " + source + " waits for the " + target + " that " + field + " names.",
		Extract: relation.Typed(func(obj K, _ relation.Kinds) []relation.Edge {
			return external.Named(obj, GK(source), kindOf(target), field, names(obj)...)
		}),
	}
}

// Guards returns the relation of objects that wait for those that they name, and
// keep them.
func Guards[K client.Object](source, target, field string, names func(K) Refs) relation.Relation {
	r := refers(source, target, field, names)
	r.Finalizer = Finalizer(source)
	r.Doc = "Every " + source + " waits for the " + target + " that " + field + " names, which stays while it is named."
	return r
}

// Reads returns the relation of objects that wait for Secrets, and use what is in
// them.
func Reads[K client.Object](source, field string, names func(K) Refs) relation.Relation {
	r := refers(source, SecretKind.Kind, field, names)
	r.Reads = true
	r.Doc = "Every " + source + " uses what is in the Secret that " + field + " names."
	return r
}

// Later returns the relation of objects whose own resources are made without those
// that they name, and completed with them.
func Later[K client.Object](source, target, field string, names func(K) Refs) relation.Relation {
	r := refers(source, target, field, names)
	r.Later = true
	r.Doc = "Every " + source + " is completed once the " + target + " that " + field + " names exists."
	return r
}

func kindOf(target string) schema.GroupKind {
	if target == SecretKind.Kind {
		return SecretKind.GroupKind()
	}
	return GK(target)
}

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

// Credentials returns the relation of objects to the Secret with their
// credentials.
func Credentials[K Credentialed](source string) relation.Relation {
	return Guards(source, SecretKind.Kind, "spec.cloudCredentialsRef.secretName", func(obj K) Refs {
		return Refs{openstackv1alpha1.KubernetesNameRef(obj.GetCommonSpec().CloudCredentialsRef.SecretName)}
	})
}

// Refs are names of objects in the same namespace.
type Refs = []openstackv1alpha1.KubernetesNameRef

// Names returns what optional references name.
func Names(refs ...*openstackv1alpha1.KubernetesNameRef) Refs {
	var names Refs
	for _, ref := range refs {
		if ref != nil {
			names = append(names, *ref)
		}
	}
	return names
}

// Spec reads references from what the resource should be, if that is given.
func Spec[K interface{ GetResource() *R }, R any](read func(*R) Refs) func(K) Refs {
	return func(obj K) Refs {
		if r := obj.GetResource(); r != nil {
			return read(r)
		}
		return nil
	}
}

// Filter reads references from the filter of an import, if there is one.
func Filter[K interface{ GetFilter() *F }, F any](read func(*F) Refs) func(K) Refs {
	return func(obj K) Refs {
		if f := obj.GetFilter(); f != nil {
			return read(f)
		}
		return nil
	}
}

// ID returns the id of the resource that an optional reference stands for.
func ID[K external.Object, S ~string](in external.Input[K], kind string, name *S) *string {
	if name == nil {
		return nil
	}
	id := in.Refs.ID(GK(kind), string(*name))
	return &id
}
