package engine

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Refs are the references of one object, resolved.
type Refs struct {
	targets []Target
	// complete says that the object exists outside too, and needs no more what it was made with.
	complete bool
	reason   string
}

// Target is what one reference stands for.
type Target struct {
	edge     relation.Edge
	relation relation.Relation
	member   *member
	object   client.Object // nil when it does not exist
	ready    bool
	id       string
	version  string
}

// ID returns the object that the reference names.
func (t Target) ID() object.ID { return t.edge.Target.ID }

// Relation returns the relation that the reference belongs to.
func (t Target) Relation() relation.Relation { return t.relation }

// Object returns the object that the reference names, or nil. The object belongs to the cache.
func (t Target) Object() client.Object { return t.object }

// Value returns what [Kind.Ready] says that the target stands for. For a relation with Reads,
// Value is the version of the target's content.
func (t Target) Value() string { return t.id }

// IsMetadata reports whether the Engine has only the metadata of the target, as of a Secret.
func (t Target) IsMetadata() bool { return t.member != nil && t.member.Example == nil }

// needs returns what has to become of the target before its source can use it: "created",
// "ready" or nothing. A target that is being deleted serves a source that is complete.
func (t Target) needs(complete bool) string {
	if t.object == nil {
		return "created"
	}
	leaving := t.object.GetDeletionTimestamp() != nil &&
		!slices.Contains(t.object.GetFinalizers(), t.relation.Finalizer)
	if !t.ready || (leaving && !complete) {
		return "ready"
	}
	return ""
}

// waits reports whether a source waits for targets of the relation. The target of a Composition
// comes from the source, and that of a Usage may be missing.
func waits(r relation.Relation) bool {
	return r.Role != relation.Composition && r.Role != relation.Usage
}

// Resolve finds the targets of an object's references. Complete says that what the object is for
// exists already: the targets of relations with Once are then left out, and those of relations
// with Later are required.
func (e *Engine) Resolve(gk schema.GroupKind, obj client.Object, complete bool) Refs {
	refs := Refs{complete: complete, reason: e.options.Reasons.Waiting}
	for _, edge := range e.Edges(gk, obj) {
		if rel := e.relations[edge.Relation]; !complete || !rel.Once {
			refs.targets = append(refs.targets, e.target(edge, rel))
		}
	}
	return refs
}

func (e *Engine) target(edge relation.Edge, rel relation.Relation) Target {
	m := e.members[edge.Target.GroupKind()]
	t := Target{edge: edge, relation: rel, member: m}
	if m != nil {
		t.object = m.get(edge.Target.ID)
	}
	if t.object == nil {
		return t
	}
	t.id, t.ready = m.ready(t.object)
	if rel.Later {
		t.ready = t.id != "" // The target may itself wait for the source.
	}
	if m.Example == nil {
		t.version = e.content(edge.Target.ID)
	}
	if rel.Reads {
		t.id = t.version
	}
	return t
}

// Waits returns an Outcome that names every target that is missing or not ready. It is done if
// the object has to wait for none.
func (r Refs) Waits() reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, t := range r.targets {
		need := t.needs(r.complete)
		if need == "" || !waits(t.relation) || (t.relation.Later && !r.complete) {
			continue
		}
		outcome = outcome.And(reconcile.Wait(r.reason, "Waiting for %s to be %s", t.edge.Target.Short(), need))
	}
	return outcome
}

// IsLate reports whether a target of a relation with Later is missing or not ready.
func (r Refs) IsLate() bool {
	return slices.ContainsFunc(r.targets, func(t Target) bool { return t.relation.Later && t.needs(r.complete) != "" })
}

// Targets returns the targets in the order of Kind.Relations.
func (r Refs) Targets() []Target { return r.targets }

// ID returns what a reference stands for ([Target.Value]), by the kind and the name of its
// target. It is empty when the target does not exist.
func (r Refs) ID(gk schema.GroupKind, name string) string { return r.find(gk, name).id }

// Object returns the object that a reference names, or nil. The object belongs to the cache.
func (r Refs) Object(gk schema.GroupKind, name string) client.Object { return r.find(gk, name).object }

// Version returns a text that changes with the content of a target of which the Engine has the
// metadata alone, such as a Secret.
func (r Refs) Version(gk schema.GroupKind, name string) string { return r.find(gk, name).version }

func (r Refs) find(gk schema.GroupKind, name string) Target {
	for _, t := range r.targets {
		if t.edge.Target.GroupKind() == gk && t.edge.Target.Name == name {
			return t
		}
	}
	return Target{}
}

// Fingerprint returns a text that changes with anything that the references stand for.
func (r Refs) Fingerprint() string {
	var text strings.Builder
	for _, t := range r.targets {
		text.WriteString(t.edge.Target.Kind + "/" + t.edge.Target.Name + "=" + t.id + t.version + "\n")
	}
	return text.String()
}
