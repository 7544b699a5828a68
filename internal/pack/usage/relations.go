package usage

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Relations returns what the pack declares: one rule for each kind of Usage.
// "spec.by uses spec.of: the latter may not be deleted while the former exists."
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

// immortal are the namespaces that the API server never deletes (its admission
// plugin NamespaceLifecycle), so that nothing has to hold them.
var immortal = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// extract returns the edges of a Usage: from the using to the used object, and
// from there to what holds the used object, whose deletion would take it along
// without asking. Nothing is held before the finalizer is there, or a Usage
// deleted at the wrong moment would leave its lock behind.
func extract(u usage, kinds relation.Kinds) []relation.Edge {
	spec := u.UsageSpec()
	if !controllerutil.ContainsFinalizer(u, finalizer) {
		return nil
	}
	target, err := end(u, &spec.Of, kinds)
	if err != nil || target.IsZero() {
		return nil
	}
	edge := relation.Edge{
		Relation: "uses", Role: relation.Usage,
		Declarer: identify(u), Target: target, Field: "spec.of",
	}
	if spec.By != nil {
		source, err := end(u, spec.By, kinds)
		if err != nil || source.IsZero() {
			return nil
		}
		edge.Source = source
		if bound := u.UsageStatus().Using; bound != nil && identifyBound(bound) == source.ID {
			edge.SourceUID = bound.UID
		}
	}
	return append([]relation.Edge{edge}, containers(edge, kinds)...)
}

// bindTo records one particular object.
func bindTo(obj relation.Object) sharedv1alpha1.BoundObject {
	return sharedv1alpha1.BoundObject{
		Group: obj.ID.Group, Kind: obj.ID.Kind, Namespace: obj.ID.Namespace, Name: obj.ID.Name, UID: obj.UID,
	}
}

// identifyBound returns the ID of an object that was recorded.
func identifyBound(b *sharedv1alpha1.BoundObject) object.ID {
	return object.ID{Group: b.Group, Kind: b.Kind, Namespace: b.Namespace, Name: b.Name}
}

// containers returns edges to whatever would take the target of an edge along
// when it is deleted: its namespace, and the definition of its kind. Where the
// source goes with it as well, the protection ends inside and nothing is held.
// The definition of the Usage's own kind is held as long as there is a Usage.
func containers(e relation.Edge, kinds relation.Kinds) []relation.Edge {
	var edges []relation.Edge
	content := e.Target // Shared by all, and all that is kept of the edge.
	hold := func(gk schema.GroupKind, name string) {
		c := e
		c.Relation = "holds"
		c.Content = &content
		c.Target = relation.Named(object.ID{Group: gk.Group, Kind: gk.Kind, Name: name})
		edges = append(edges, c)
	}
	if ns := e.Target.Namespace; ns != "" && e.Source.Namespace != ns && !slices.Contains(immortal, ns) {
		hold(namespaceKind, ns)
	}
	if gk := e.Target.GroupKind(); gk.Group != "" && e.Source.GroupKind() != gk {
		if m, err := kinds.Mapping(gk.WithVersion("")); err == nil {
			hold(relation.DefinitionKind, m.Resource.Resource+"."+gk.Group)
		}
	}
	if own, ok := kindOf(e.Declarer.GroupKind()); ok {
		hold(relation.DefinitionKind, own.resource+"."+own.Group)
	}
	return edges
}

// kindNamed returns the kind that one side of a Usage names. In which version plays
// no role: the objects are the same in all of them.
func kindNamed(r *sharedv1alpha1.Resource) schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// mappingOf returns where the objects are found that one side of a Usage names.
// Where the cluster can't tell, they are taken to live in namespaces: nobody can
// look at one until it can, and with no end at all the protection would end.
func mappingOf(r *sharedv1alpha1.Resource, kinds relation.Kinds) (watch.Mapping, error) {
	mapping, err := kinds.Mapping(kindNamed(r).WithVersion(""))
	if _, unanswered := errors.AsType[*watch.UnansweredError](err); unanswered {
		return watch.Mapping{Namespaced: true}, nil
	}
	return mapping, err
}

// end returns what one side of a Usage stands for. It is zero while a selector
// is not resolved. The error says why it can't stand for anything, for people.
func end(u usage, r *sharedv1alpha1.Resource, kinds relation.Kinds) (relation.Ref, error) {
	if err := impossible(r); err != nil {
		return relation.Ref{}, err
	}
	gk := kindNamed(r)
	mapping, err := mappingOf(r, kinds)
	if err != nil {
		return relation.Ref{}, err
	}
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind}}
	if mapping.Namespaced {
		ref.Namespace = namespaceOf(u, r)
	}
	if r.ResourceRef != nil && r.ResourceRef.Name != "" {
		if mapping.Namespaced && ref.Namespace == "" {
			return relation.Ref{}, fmt.Errorf("%s lives in a namespace: set resourceRef.namespace", gk)
		}
		ref.Name = r.ResourceRef.Name
		return ref, nil
	}
	if s := r.ResourceSelector; s != nil && s.MatchAll != nil && *s.MatchAll {
		ref.Selector = selectorOf(u, s)
		return ref, nil
	}
	return relation.Ref{}, nil
}

// namespaceOf returns the namespace that one side of a Usage looks into. Empty
// means all of them.
func namespaceOf(u usage, r *sharedv1alpha1.Resource) string {
	switch {
	case r.ResourceRef != nil && r.ResourceRef.Namespace != "":
		return r.ResourceRef.Namespace
	case r.ResourceSelector != nil && r.ResourceSelector.Namespace != "":
		return r.ResourceSelector.Namespace
	default:
		return u.GetNamespace()
	}
}

// selectorOf returns the selector as the engine knows it. Objects of a
// composition find each other by their common controller; a Usage without a
// controller finds nothing that way.
func selectorOf(u usage, s *sharedv1alpha1.ResourceSelector) *relation.Selector {
	selector := &relation.Selector{Labels: s.MatchLabels}
	if s.MatchControllerRef != nil && *s.MatchControllerRef {
		selector.Controller = noController
		if c := metav1.GetControllerOfNoCopy(u); c != nil {
			selector.Controller = c.UID
		}
	}
	return selector
}

// looksFor returns what the selector of one side of a Usage selects. It has no selector
// where the side has none.
func looksFor(u usage, r *sharedv1alpha1.Resource, kinds relation.Kinds) relation.Ref {
	gk := kindNamed(r)
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind}}
	if r.ResourceSelector != nil {
		ref.Selector = selectorOf(u, r.ResourceSelector)
	}
	if m, err := kinds.Mapping(gk.WithVersion("")); err == nil && m.Namespaced {
		ref.Namespace = namespaceOf(u, r)
	}
	return ref
}

// noController is a uid that no object has.
const noController = "none"

// describe returns the text of the details column.
func describe(u usage) string {
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
