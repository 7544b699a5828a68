package relation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Role is the meaning of a reference for the two objects that the reference connects:
// [Dependency], for example.
type Role string

const (
	// Dependency makes the source wait for the target, and keeps the target while the source
	// refers to the target: a Subnet with spec.resource.networkRef waits for its Network, and the
	// Network is kept while the Subnet exists.
	Dependency Role = "Dependency"
	// Owner makes the target own the source: the source waits for its owner, gets
	// metadata.ownerReferences with the UID of the owner, and is deleted by the garbage
	// collector after its owner.
	Owner Role = "Owner"
	// Usage refuses the DELETE of the target at admission: the webhook answers 409.
	Usage Role = "Usage"
	// Binding lets the source act on the target: a HorizontalPodAutoscaler scales a Deployment.
	Binding Role = "Binding"
	// Composition says that the source renders the target: an IotConnector renders its
	// Deployments. The source does not wait for the target.
	Composition Role = "Composition"
)

// Relation is a rule: objects of the kind Declarer declare edges of one [Role].
type Relation struct {
	// Name identifies the relation among all others, for people and metrics.
	Name string
	// Role of the edges.
	Role Role
	// Doc is one sentence for the generated table in docs/relations.md.
	Doc string
	// Declarer is the GroupKind of the objects that Extract reads.
	Declarer schema.GroupKind
	// Target is the kind that the edges lead to, and Field is the field of the declarer that
	// names the target. Both are zero if the declarer chooses the kind (spec.of.kind of a
	// Usage), or if several fields name the target.
	Target schema.GroupKind
	Field  string
	// Targets, if set, are the only kinds that edges may lead to, where Target is zero: the guards of all other
	// kinds need not know the declarers.
	Targets []schema.GroupKind
	// Finalizer is set on a ready target while a source refers to the target, such as
	// openstack.k-orc.cloud/subnet on a Network. Empty means that the source waits for the
	// target, and the target may be deleted.
	Finalizer string
	// FieldOwner is the field manager that applies Finalizer. Empty means Finalizer followed by
	// "controller".
	FieldOwner string
	// Reads says that the source uses the content of the target, such as the password in a
	// Secret. A target with another metadata.resourceVersion wakes the source.
	Reads bool
	// Once says that the source needs its target only until the source is created: a Server
	// needs spec.resource.flavorRef at creation only.
	Once bool
	// Later says that the source is created without its target, and completed when the target
	// exists. So two sources may refer to each other, as two SecurityGroups do in
	// spec.resource.rules.
	Later bool
	// Across says that an object may name targets in other namespaces (see
	// [Reference.Namespace]).
	Across bool
	// Extract returns the edges that an object declares, in a fixed order.
	Extract Extractor
}

// MayTarget reports whether an edge of the relation may lead to objects of a kind.
func (r Relation) MayTarget(gk schema.GroupKind) bool {
	if r.Target.Empty() {
		return len(r.Targets) == 0 || slices.Contains(r.Targets, gk)
	}
	return r.Target == gk
}

// RowHeader is the header of a table of relations.
var RowHeader = []string{"RELATION", "ROLE", "DECLARER", "MEANING"}

// Row returns the relation as a row of a table.
func (r Relation) Row() []string {
	return []string{r.Name, string(r.Role), r.Declarer.String(), r.Doc}
}

// Kinds tells which kinds the cluster serves. [watch.Catalog] implements Kinds.
type Kinds interface {
	Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error)
}

// Extractor returns the edges that an object declares. An Extractor MUST be pure: kinds is all
// that it may read of the cluster. A reference to a kind that the cluster does not serve yields
// no edge; the Extractor runs again when the kind is installed.
type Extractor func(obj client.Object, kinds Kinds) []Edge

// Typed makes an [Extractor] from a function of the concrete type T. The Extractor panics for an
// object of another type, which is a mistake in the wiring.
func Typed[T client.Object](extract func(T, Kinds) []Edge) Extractor {
	return func(obj client.Object, kinds Kinds) []Edge { return extract(obj.(T), kinds) }
}

// Ref is one end of an [Edge]: an object by name or, when [Ref.Selector] is set, all objects of the
// kind that Selector selects in Namespace (in every namespace if Namespace is empty).
type Ref struct {
	object.ID

	Selector *Selector
}

// Named returns the [Ref] of one object.
func Named(id object.ID) Ref { return Ref{ID: id} }

// IsZero reports whether the [Edge] has no such end.
func (r Ref) IsZero() bool { return r.ID.IsZero() && r.Selector == nil }

// Equal reports whether two Refs stand for the same objects.
func (r Ref) Equal(other Ref) bool {
	if r.ID != other.ID || (r.Selector == nil) != (other.Selector == nil) {
		return false
	}
	return r.Selector == nil || r.Selector.equal(other.Selector)
}

// String returns the end for messages: "every Pod in namespace web that matches app=db".
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

// key returns a text that differs for any two Refs that are not Equal: all selectors of a kind
// and namespace have the same ID.
func (r Ref) key() string {
	if r.Selector == nil {
		return fmt.Sprintf("%q", r.ID)
	}
	return fmt.Sprintf("%q %q %q %v", r.ID, r.Selector.Labels, r.Selector.Controller, r.Selector.Where)
}

// Matches reports whether the [Ref] stands for an object.
func (r Ref) Matches(obj Object) bool {
	if r.Selector == nil {
		return r.ID == obj.ID
	}
	return r.GroupKind() == obj.ID.GroupKind() &&
		(r.Namespace == "" || r.Namespace == obj.ID.Namespace) &&
		r.Selector.Matches(obj)
}

// Edge is one concrete fact: [Edge.Source] needs [Edge.Target].
type Edge struct {
	// Relation is the [Relation.Name] of the rule that the edge was extracted from.
	Relation string
	// Role of the edge.
	Role Role
	// Declarer is the object that declares the edge: a Usage, or Source itself.
	Declarer object.ID
	// Source needs the target. Source is zero if the declarer protects the target without a
	// reason (a Usage with spec.reason and no spec.by).
	Source Ref
	// SourceUID, if set, is the UID that the source must have: a new object of the same name is
	// not the source.
	SourceUID types.UID
	// Target is the object that Source needs, or a [Selector] of such objects.
	Target Ref
	// Field is the field of the declarer that names the target, such as
	// spec.volumes[0].secret.secretName.
	Field string
	// Content is set on an edge whose target is a Namespace or a CustomResourceDefinition:
	// Content is the protected object that would be deleted together with the target.
	Content *Ref
}
