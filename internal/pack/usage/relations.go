package usage

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/redact"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Relations returns the relation of each kind of Usage: spec.of must not be deleted while spec.by
// exists.
func Relations() []relation.Relation {
	relations := make([]relation.Relation, 0, len(kinds))
	for _, k := range kinds {
		relations = append(relations, relation.Relation{
			Name:     k.resource + "." + k.Group,
			Role:     relation.Usage,
			Doc:      "What spec.of names may not be deleted while what spec.by names exists.",
			Declarer: k.GroupKind(),
			Extract:  relation.Typed(extract),
		})
	}
	return relations
}

// immortal are the namespaces that the admission plugin NamespaceLifecycle never allows to
// delete. They need no lock.
var immortal = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// isContainer reports whether the deletion of an object of a kind deletes other objects: a
// Namespace or a CustomResourceDefinition.
func isContainer(gk schema.GroupKind) bool {
	return gk == namespaceKind || gk == relation.DefinitionKind
}

// extract returns the edges of a Usage: from the using object to the used object, and to the
// Namespace and the CustomResourceDefinition that contain the used object. A Usage without the
// finalizer has no edges: if this Usage was deleted, its lock would stay.
func extract(u usage, kinds relation.Kinds) []relation.Edge {
	spec := u.UsageSpec()
	if !finalizer.On(u) {
		return nil
	}
	target, err := refOf(u, &spec.Of, kinds)
	if err != nil || target.IsZero() {
		return nil
	}
	edge := relation.Edge{
		Relation: "uses", Role: relation.Usage,
		Declarer: identify(u), Target: target, Field: "spec.of",
	}
	if spec.By != nil {
		source, err := refOf(u, spec.By, kinds)
		if err != nil || source.IsZero() {
			return nil
		}
		edge.Source = source
		if bound := u.UsageStatus().Using; bound != nil && boundID(bound) == source.ID {
			edge.SourceUID = bound.UID
		}
	}
	return append([]relation.Edge{edge}, containers(edge, kinds)...)
}

// boundObject is an object with its UID in status.using.
type boundObject = sharedv1alpha1.BoundObject

func bindTo(obj relation.Object) boundObject {
	return boundObject{
		Group: obj.ID.Group, Kind: obj.ID.Kind, Namespace: obj.ID.Namespace, Name: obj.ID.Name, UID: obj.UID,
	}
}

func boundID(b *boundObject) object.ID {
	return object.ID{Group: b.Group, Kind: b.Kind, Namespace: b.Namespace, Name: b.Name}
}

// containers returns edges to the Namespace and to the CustomResourceDefinition whose deletion
// would delete the target of an edge. There is no edge to a container of both source and
// target, because the protection ends with the container. The CustomResourceDefinition of the
// Usage's own kind is kept while there is a Usage.
func containers(e relation.Edge, kinds relation.Kinds) []relation.Edge {
	var edges []relation.Edge
	content := e.Target // All edges share one copy: an index holds thousands.
	add := func(gk schema.GroupKind, name string) {
		c := e
		c.Relation = "holds"
		c.Content = &content
		c.Target = relation.Named(object.ID{Group: gk.Group, Kind: gk.Kind, Name: name})
		edges = append(edges, c)
	}
	if ns := e.Target.Namespace; ns != "" && e.Source.Namespace != ns && !slices.Contains(immortal, ns) {
		add(namespaceKind, ns)
	}
	if gk := e.Target.GroupKind(); gk.Group != "" && e.Source.GroupKind() != gk {
		if m, err := kinds.Mapping(gk.WithVersion("")); err == nil {
			add(relation.DefinitionKind, m.Resource.Resource+"."+gk.Group)
		}
	}
	if own, ok := kindOf(e.Declarer.GroupKind()); ok {
		add(relation.DefinitionKind, own.resource+"."+own.Group)
	}
	return edges
}

// describe returns the text of column DETAILS: the reason, or "Pod/a uses ConfigMap/b". `kubectl get` prints the text
// as it is.
func describe(u usage) string { return redact.Printable(details(u)) }

func details(u usage) string {
	spec := u.UsageSpec()
	if spec.Reason != nil && *spec.Reason != "" {
		return *spec.Reason
	}
	of, by := spec.Of.ResourceRef, spec.By
	if by == nil || by.ResourceRef == nil || of == nil {
		return "undefined"
	}
	text := fmt.Sprintf("%s/%s uses %s/%s", by.Kind, by.ResourceRef.Name, spec.Of.Kind, of.Name)
	if of.Namespace != "" {
		text += " in namespace " + of.Namespace
	}
	return text
}
