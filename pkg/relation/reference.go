package relation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Form says how a field names objects: ByName, for example.
type Form int

const (
	// ByName is a string: the name of an object of kind Target.
	ByName Form = iota
	// ByKind is an object with the fields name, kind and apiVersion, apiGroup or group.
	ByKind
	// ByLabels is an object whose fields are the labels of the selected objects, such as
	// spec.selector of a Service.
	ByLabels
	// BySelector is a LabelSelector. An empty LabelSelector selects every object of the
	// namespace.
	BySelector
)

// Reference is a relation that one field of the declarer makes: the declarer is the source, and
// the field names the target. A [Path] leads to the field, so a Reference needs no code of its
// own and no Go type of the declarer.
type Reference struct {
	Name     string
	Role     Role
	Doc      string
	Declarer schema.GroupKind
	// Path leads to the field, such as "spec.volumes[*].secret.secretName".
	Path Path
	// PathAt, if set, leads to a field of the declarer that holds Path as a string: Path is
	// then known only at run time. A string that [ParsePath] refuses names no target.
	PathAt Path
	Form   Form
	// Target is the kind that the field names. With ByKind, the zero value means any kind that
	// the cluster serves, and a kind means that references to other kinds yield no edge.
	Target schema.GroupKind
	// Namespace is the field beside the name that holds the namespace of the target, such as
	// subjects[*].namespace of a RoleBinding. Empty means metadata.namespace of the declarer. A
	// cluster-scoped target, such as a Node, has no namespace.
	Namespace string
	// Only, if set, leaves out a reference for which Only returns false. The arguments are the
	// declarer and the object with the field ([Value.Holder]): for
	// spec.volumes[*].secret.secretName the holder is the secret of one volume.
	Only func(declarer, holder map[string]any) bool
	// Later and Finalizer are copied to [Relation.Later] and [Relation.Finalizer].
	Later     bool
	Finalizer string
}

// Relation returns the [Relation] that the reference stands for.
func (r Reference) Relation() Relation {
	return Relation{
		Name: r.Name, Role: r.Role, Doc: r.Doc, Declarer: r.Declarer, Target: r.Target,
		Field: r.Path.text + r.PathAt.text, Finalizer: r.Finalizer, Later: r.Later,
		Across: r.Namespace != "", Extract: r.extract,
	}
}

// extract implements [Extractor]. An object that contentOf cannot convert declares no edge: the
// API server never stored such an object.
func (r Reference) extract(obj client.Object, kinds Kinds) []Edge {
	content, err := contentOf(obj)
	if err != nil {
		return nil
	}
	source := object.Of(obj, r.Declarer)
	var edges []Edge
	for _, v := range r.values(content) {
		if r.Only != nil && !r.Only(content, v.Holder) {
			continue
		}
		target, ok := r.target(v, source.Namespace, kinds)
		if !ok {
			continue
		}
		edges = append(edges, Edge{
			Relation: r.Name, Role: r.Role, Declarer: source, Source: Named(source), Target: target, Field: v.Field,
		})
	}
	return edges
}

// values returns the values of the field that Path or PathAt leads to.
func (r Reference) values(content map[string]any) []Value {
	values := r.Path.Values(content)
	for _, at := range r.PathAt.Values(content) {
		text, _ := at.Value.(string)
		if path, err := ParsePath(text); err == nil {
			values = append(values, path.Values(content)...)
		}
	}
	return values
}

// contentOf returns the content of an object as map[string]any.
func contentOf(obj client.Object) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read the fields of %T: %w", obj, err)
	}
	return content, nil
}

// target returns the target that the value v names, as a [Ref]. ok is false if v names no
// object, or if the cluster does not serve the kind.
func (r Reference) target(v Value, namespace string, kinds Kinds) (Ref, bool) {
	gk, name, holder := r.Target, "", v.Holder
	var selector *Selector
	switch r.Form {
	case ByName:
		name, _ = v.Value.(string)
	case ByKind:
		holder, _ = v.Value.(map[string]any)
		gk, name = kindOf(holder), text(holder, "name")
		if gk.Kind == "" || (r.Target.Kind != "" && gk != r.Target) {
			return Ref{}, false
		}
	case ByLabels, BySelector:
		if selector = r.selector(v.Value); selector == nil {
			return Ref{}, false
		}
	}
	mapping, err := kinds.Mapping(gk.WithVersion(""))
	if err != nil || (name == "" && selector == nil) {
		return Ref{}, false
	}
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: name}
	if mapping.Namespaced {
		if given := text(holder, r.Namespace); given != "" {
			namespace = given
		}
		if id.Namespace = namespace; namespace == "" {
			return Ref{}, false
		}
	}
	return Ref{ID: id, Selector: selector}, true
}

// kindOf returns the kind that a reference names. Without apiVersion, apiGroup and group the
// reference names a kind of the core group.
func kindOf(ref map[string]any) schema.GroupKind {
	gk := schema.GroupKind{Kind: text(ref, "kind"), Group: text(ref, "apiGroup")}
	if gk.Group == "" {
		gk.Group = text(ref, "group")
	}
	if version := text(ref, "apiVersion"); version != "" {
		gk.Group = schema.FromAPIVersionAndKind(version, gk.Kind).Group
	}
	return gk
}

func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}

// selector returns the [Selector] that a value describes, or nil if the value selects nothing.
func (r Reference) selector(value any) *Selector {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	if r.Form == ByLabels {
		want := map[string]string{}
		for k := range fields {
			want[k] = text(fields, k)
		}
		if len(want) == 0 {
			return nil // A Service without a selector selects nothing.
		}
		return &Selector{Labels: want}
	}
	var given metav1.LabelSelector
	// With an unknown field, such as matchLabel in place of matchLabels, the LabelSelector
	// would be empty and select everything.
	const refuseUnknown = true
	convert := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation
	if err := convert(fields, &given, refuseUnknown); err != nil {
		return nil
	}
	where, err := metav1.LabelSelectorAsSelector(&given)
	if err != nil {
		return nil
	}
	return &Selector{Where: where}
}
