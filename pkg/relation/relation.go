package relation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Role is what a reference means for the two objects it connects.
type Role string

const (
	// Dependency makes the source wait for the target, and keeps the target while
	// the source refers to it.
	Dependency Role = "Dependency"
	// Owner makes the target own the source: it waits, and goes with its owner.
	Owner Role = "Owner"
	// Usage refuses the deletion of the target at admission.
	Usage Role = "Usage"
	// Binding lets the source act on the target, as a trait does on a workload.
	Binding Role = "Binding"
	// Composition says that the source rendered the target.
	Composition Role = "Composition"
)

// Relation is a rule: objects of the kind Declarer declare edges of one role.
type Relation struct {
	// Name identifies the relation among all others, for people and metrics.
	Name string
	// Role of the edges.
	Role Role
	// Doc is one sentence for the generated table of relations.
	Doc string
	// Declarer is the kind of object that the edges are extracted from.
	Declarer schema.GroupKind
	// Target is the kind that the edges lead to, and Field what names it in the
	// declarer; zero where the declarer says which kind, or several fields name it.
	Target schema.GroupKind
	Field  string
	// Finalizer is what keeps a target while a source refers to it, once the target
	// is ready. Empty means that the source waits for the target and no more.
	Finalizer string
	// FieldOwner is the field manager that applies Finalizer. Empty means Finalizer
	// followed by "controller".
	FieldOwner string
	// Reads says that the source uses what is in the target, not only that it is
	// there, so that it is concerned when the target has another content.
	Reads bool
	// Once says that the source needs its target to be made, and not from then on.
	Once bool
	// Later says that the source is made without its target, and completed with it once
	// that exists. So sources may refer to each other.
	Later bool
	// Across says that an object may name targets in other namespaces than its own.
	Across bool
	// Extract returns the edges that an object declares, in a fixed order.
	Extract Extractor
}

// RowHeader is the header of a table of relations.
var RowHeader = []string{"RELATION", "ROLE", "DECLARER", "MEANING"}

// Row returns the relation as a row of a table.
func (r Relation) Row() []string {
	return []string{r.Name, string(r.Role), r.Declarer.String(), r.Doc}
}

// Kinds tells which kinds the cluster serves, as [watch.Catalog] does.
type Kinds interface {
	Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error)
}

// Extractor returns the edges an object declares. It must be pure: all it may
// know of the cluster is what kinds there are. References to kinds that the
// cluster does not serve yield no edge; they are extracted again when the kind
// appears.
type Extractor func(obj client.Object, kinds Kinds) []Edge

// Typed makes an Extractor from a function of the concrete type. It panics when
// it is handed an object of another type, which is a mistake in the wiring.
func Typed[T client.Object](extract func(T, Kinds) []Edge) Extractor {
	return func(obj client.Object, kinds Kinds) []Edge { return extract(obj.(T), kinds) }
}

// Ref is one end of an edge: an object by name or, when Selector is set, all
// objects of the kind that it selects in Namespace (everywhere when empty).
type Ref struct {
	object.ID

	Selector *Selector
}

// Named returns the end that is one object.
func Named(id object.ID) Ref { return Ref{ID: id} }

// IsZero reports whether there is no such end.
func (r Ref) IsZero() bool { return r.ID.IsZero() && r.Selector == nil }

// Equal reports whether two ends stand for the same objects.
func (r Ref) Equal(other Ref) bool {
	if r.ID != other.ID || (r.Selector == nil) != (other.Selector == nil) {
		return false
	}
	return r.Selector == nil || r.Selector.equal(other.Selector)
}

// String returns the end for people.
func (r Ref) String() string {
	if r.Selector == nil {
		return r.ID.String()
	}
	where := ""
	if r.Namespace != "" {
		where = " in namespace " + r.Namespace
	}
	return fmt.Sprintf("every %s%s that matches %s", r.Kind, where, r.Selector)
}

// key tells ends apart: all selectors of a kind and namespace have the same ID.
func (r Ref) key() string {
	if r.Selector == nil {
		return fmt.Sprintf("%q", r.ID)
	}
	return fmt.Sprintf("%q %q %q %v", r.ID, r.Selector.Labels, r.Selector.Controller, r.Selector.Where)
}

// Matches reports whether the end stands for an object.
func (r Ref) Matches(obj Object) bool {
	if r.Selector == nil {
		return r.ID == obj.ID
	}
	return r.GroupKind() == obj.ID.GroupKind() &&
		(r.Namespace == "" || r.Namespace == obj.ID.Namespace) &&
		r.Selector.Matches(obj)
}

// Edge is one concrete fact: a source that needs a target.
type Edge struct {
	// Relation is the name of the rule that the edge comes from.
	Relation string
	// Role of the edge.
	Role Role
	// Declarer is the object that says so.
	Declarer object.ID
	// Source needs the target. It has no end when the declarer protects the target
	// for its own sake.
	Source Ref
	// SourceUID, if set, is the uid that the source must have: another object of
	// the same name is not meant.
	SourceUID types.UID
	// Target is needed.
	Target Ref
	// Field of the declarer that names the target.
	Field string
	// Content is set on edges to what holds an object: the namespace or the
	// definition whose deletion would take it along. It is the end held.
	Content *Ref
}
