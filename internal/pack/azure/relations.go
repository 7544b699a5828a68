package azure

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// relationsOf returns the relations of a kind that the API server serves, if the catalogue has the
// kind.
func relationsOf(options Options, served schema.GroupVersionKind) []relation.Relation {
	if !strings.HasSuffix(served.Group, catalogue.GroupSuffix) {
		return nil // Without the time that the catalogue takes.
	}
	all := options.kinds()
	found := all.Find(served)
	if found == nil {
		return nil
	}
	return (&kind{entry: found, all: all}).relations()
}

// relations returns the relations of the kind: to its owner, to the resources that the spec refers
// to, to the Secret with the credentials, and to the Secrets with the values of sensitive fields.
func (k *kind) relations() []relation.Relation {
	gk, name := k.GroupVersionKind().GroupKind(), k.Plural+"."+k.Group
	edge := func(obj client.Object, role relation.Role, target schema.GroupKind, name, field string) relation.Edge {
		source := object.Of(obj, gk)
		return relation.Edge{
			Role: role, Declarer: source, Source: relation.Named(source), Field: field,
			Target: relation.Named(object.ID{
				Group: target.Group, Kind: target.Kind, Namespace: source.Namespace, Name: name,
			}),
		}
	}
	return append([]relation.Relation{
		{
			Name: "azure-owner-" + name, Role: relation.Owner, Declarer: gk, Target: k.onlyOwnerKind(),
			Field: "spec." + catalogue.OwnerField, Doc: "The resource of a " + k.Kind + " is in the resource of its owner.",
			Extract: relation.Typed(func(obj *external.Unstructured, _ relation.Kinds) []relation.Edge {
				owner, gk := k.owner(obj)
				if owner == nil || !k.isKnown(gk) {
					return nil
				}
				return []relation.Edge{edge(obj, relation.Owner, gk, owner.Name, "spec."+catalogue.OwnerField)}
			}),
		},
		{
			Name: "azure-reference-" + name, Role: relation.Dependency, Declarer: gk, Finalizer: guard,
			Targets: k.referenceKinds(),
			Doc:     "A " + k.Kind + " waits for the resources that its spec refers to.",
			Extract: relation.Typed(func(obj *external.Unstructured, _ relation.Kinds) (edges []relation.Edge) {
				for _, found := range k.references(obj) {
					target := k.targetKind(found.Kubernetes, found.Targets)
					one := edge(obj, relation.Dependency, target, found.Kubernetes.Name, found.Path)
					if k.isKnown(target) && one.Target.ID != one.Declarer {
						edges = append(edges, one)
					}
				}
				return edges
			}),
		},
		{
			Name: "azure-credentials-" + name, Role: relation.Dependency, Declarer: gk, Finalizer: guard, Reads: true,
			Target: secretKind.GroupKind(), Field: "spec.credentialsRef.secretName",
			Doc: "A " + k.Kind + " is managed with the credentials in the Secret.",
			Extract: relation.Typed(func(obj *external.Unstructured, _ relation.Kinds) []relation.Edge {
				secret := secretOf(obj)
				if secret == "" {
					return nil
				}
				return []relation.Edge{
					edge(obj, relation.Dependency, secretKind.GroupKind(), secret, "spec.credentialsRef.secretName"),
				}
			}),
		},
	}, k.secretRelations(name, edge)...)
}

// edgeOf returns the edge from an object to a target that a field names.
type edgeOf func(obj client.Object, role relation.Role, target schema.GroupKind, name, field string) relation.Edge

// secretRelations returns the relation to the Secrets of sensitive fields, for a kind that has such fields.
func (k *kind) secretRelations(name string, edge edgeOf) []relation.Relation {
	if len(k.SecretFields) == 0 {
		return nil
	}
	return []relation.Relation{{
		Name: "azure-secrets-" + name, Role: relation.Dependency, Finalizer: guard, Reads: true,
		Declarer: k.GroupVersionKind().GroupKind(), Target: secretKind.GroupKind(),
		Doc: "A " + k.Kind + " has values that are in Secrets, such as passwords.",
		Extract: relation.Typed(func(obj *external.Unstructured, _ relation.Kinds) (edges []relation.Edge) {
			for _, found := range k.secrets(obj) {
				edges = append(edges, edge(obj, relation.Dependency, secretKind.GroupKind(), found.Name, found.Path))
			}
			return edges
		}),
	}}
}

// referenceKinds returns the kinds that references may name, or nil if a field may refer to any
// kind. For a kind without reference fields, referenceKinds returns only the kind itself.
func (k *kind) referenceKinds() []schema.GroupKind {
	fields, err := k.ReferenceFields()
	if err != nil {
		return nil // newKind reports a definition that cannot be decoded.
	}
	all := []schema.GroupKind{k.GroupVersionKind().GroupKind()}
	for _, field := range fields {
		if len(field.Targets) == 0 {
			return nil
		}
		for _, target := range field.Targets {
			if gk := k.kindOf(target.Type); gk.Kind != "" && !slices.Contains(all, gk) {
				all = append(all, gk)
			}
		}
	}
	return all
}

// ownerKind returns the GroupKind of an owner of which spec.ownerRef does not name the kind, or the zero value.
func (k *kind) ownerKind() schema.GroupKind { return k.kindOf(k.Owner) }

// onlyOwnerKind returns the GroupKind of all owners, or the zero value if owners can be of several kinds.
func (k *kind) onlyOwnerKind() schema.GroupKind {
	if k.Extends() {
		return schema.GroupKind{}
	}
	return k.ownerKind()
}

// kindOf returns the GroupKind of an ARM type, or the zero value.
func (k *kind) kindOf(armType string) schema.GroupKind {
	if known := k.all.Default(armType); known != nil {
		return known.GroupVersionKind().GroupKind()
	}
	return schema.GroupKind{}
}

// owner returns the owner in spec.ownerRef.kubernetes and its GroupKind, or nil for an owner in
// another form.
func (k *kind) owner(obj *external.Unstructured) (*catalogue.KubernetesReference, schema.GroupKind) {
	reference, _, err := catalogue.Owner(specOf(obj))
	if err != nil || reference.Kubernetes == nil {
		return nil, schema.GroupKind{}
	}
	if named := reference.Kubernetes; named.Kind != "" && named.Group != "" {
		return named, schema.GroupKind{Group: named.Group, Kind: named.Kind}
	}
	return reference.Kubernetes, k.ownerKind()
}

// references returns the references of an object in the Kubernetes form.
func (k *kind) references(obj *external.Unstructured) (all []catalogue.Found) {
	found, err := k.References(specOf(obj))
	if err != nil {
		return nil // newKind reports a definition that cannot be decoded.
	}
	for _, one := range found {
		if one.Kubernetes != nil {
			all = append(all, one)
		}
	}
	return all
}

// targetKind returns the GroupKind that a reference names. For a reference without a kind,
// targetKind returns the only GroupKind that its field may refer to, or the zero value.
func (k *kind) targetKind(named *catalogue.KubernetesReference, targets []catalogue.Target) schema.GroupKind {
	var only schema.GroupKind
	for _, t := range targets {
		gk := k.kindOf(t.Type)
		fits := (named.Kind == "" || gk.Kind == named.Kind) && (named.Group == "" || gk.Group == named.Group)
		if !fits {
			continue
		}
		if only.Kind != "" && only != gk {
			return schema.GroupKind{}
		}
		only = gk
	}
	if only.Kind == "" && named.Kind != "" {
		return schema.GroupKind{Group: named.Group, Kind: named.Kind}
	}
	return only
}
