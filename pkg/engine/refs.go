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

// Refs are the resolved references of one object.
type Refs struct {
	targets []Target
	// complete says that the object has its cloud resource already, and does not need the
	// targets of relations with Relation.Once any more.
	complete bool
	reasons  Reasons
}

// Target is the result of resolving one reference.
type Target struct {
	edge     relation.Edge
	relation relation.Relation
	member   *member
	object   client.Object // nil if the object does not exist
	ready    bool
	id       string
	version  string
	// refusal says why the operator may not read the kind of a missing target, if that is so.
	refusal string
}

// ID returns the object that the reference names.
func (t Target) ID() object.ID { return t.edge.Target.ID }

// Relation returns the [relation.Relation] that the reference belongs to.
func (t Target) Relation() relation.Relation { return t.relation }

// Object returns the object that the reference names, or nil. The object belongs to the cache.
func (t Target) Object() client.Object { return t.object }

// Value returns the value that [Kind.Ready] returned for the target, such as the ID of a cloud
// resource. For a relation with Relation.Reads, Value is the resourceVersion of the target's
// content.
func (t Target) Value() string { return t.id }

// IsMetadata reports whether the [Engine] has only the metadata of the target, as for a Secret.
func (t Target) IsMetadata() bool { return t.member != nil && t.member.Example == nil }

// needs returns the event that the source has to wait for: the target must be "created" or
// "ready", or "" if the source can use the target. A target that is being deleted is ready for
// a source that is complete.
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

// waits reports whether a source waits for targets of the relation. With [relation.Composition]
// the source creates the target, and with [relation.Usage] the target may be missing.
func waits(r relation.Relation) bool {
	return r.Role != relation.Composition && r.Role != relation.Usage
}

// Resolve resolves the references of an object. complete says that the cloud resource of the
// object exists already: then Resolve leaves out relations with Relation.Once, and requires the
// targets of relations with Relation.Later.
func (e *Engine) Resolve(gk schema.GroupKind, obj client.Object, complete bool) Refs {
	refs := Refs{complete: complete, reasons: e.options.Reasons}
	relations := e.known.Load().relations
	for _, edge := range e.Edges(gk, obj) {
		if rel := relations[edge.Relation]; !complete || !rel.Once {
			refs.targets = append(refs.targets, e.target(edge, rel))
		}
	}
	return refs
}

func (e *Engine) target(edge relation.Edge, rel relation.Relation) Target {
	m := e.member(edge.Target.GroupKind())
	t := Target{edge: edge, relation: rel, member: m}
	if m != nil {
		t.object = m.get(edge.Target.ID)
	}
	if t.object == nil {
		if e.options.Health != nil {
			t.refusal = e.options.Health.Refusal(edge.Target.GroupKind())
		}
		return t
	}
	t.id, t.ready = m.ready(t.object)
	if rel.Later {
		t.ready = t.id != "" // The target may wait for the source itself.
	}
	if m.Example == nil {
		t.version = e.content(edge.Target.ID)
	}
	if rel.Reads {
		t.id = t.version
	}
	return t
}

// Waits returns a [reconcile.Outcome] that names every target that is missing or not ready. The
// Outcome is done if there is no such target.
func (r Refs) Waits() reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, t := range r.targets {
		need := t.needs(r.complete)
		if need == "" || !waits(t.relation) || (t.relation.Later && !r.complete) {
			continue
		}
		reason := r.reasons.Waiting
		if t.relation.Role == relation.Owner {
			reason = r.reasons.Owner
		}
		if t.refusal != "" {
			outcome = outcome.And(reconcile.Wait(reason,
				"Waiting for %s to be %s: the operator may not read its kind: %s", t.edge.Target.Short(), need, t.refusal))
			continue
		}
		if t.member == nil || t.member.cache.Load() == nil {
			outcome = outcome.And(reconcile.Wait(reason, "Waiting for %s to be %s: the kind %s is not installed",
				t.edge.Target.Short(), need, t.edge.Target.GroupKind()))
			continue
		}
		outcome = outcome.And(reconcile.Wait(reason, "Waiting for %s to be %s", t.edge.Target.Short(), need))
	}
	return outcome
}

// IsLate reports whether a target of a relation with Relation.Later is missing or not ready.
func (r Refs) IsLate() bool {
	return slices.ContainsFunc(r.targets, func(t Target) bool { return t.relation.Later && t.needs(r.complete) != "" })
}

// Targets returns the targets in the order of Kind.Relations.
func (r Refs) Targets() []Target { return r.targets }

// ID returns the [Target.Value] of a reference, by the kind and name of its target. ID returns
// "" if the target does not exist.
func (r Refs) ID(gk schema.GroupKind, name string) string { return r.find(gk, name).id }

// Object returns the target of a reference, or nil. The object belongs to the cache.
func (r Refs) Object(gk schema.GroupKind, name string) client.Object { return r.find(gk, name).object }

// Version returns a text that changes with the content of a target of which the [Engine] has only
// the metadata, such as a Secret.
func (r Refs) Version(gk schema.GroupKind, name string) string { return r.find(gk, name).version }

func (r Refs) find(gk schema.GroupKind, name string) Target {
	for _, t := range r.targets {
		if t.edge.Target.GroupKind() == gk && t.edge.Target.Name == name {
			return t
		}
	}
	return Target{}
}

// Fingerprint returns a text that changes with the [Target.Value] or the content of any target.
func (r Refs) Fingerprint() string {
	var text strings.Builder
	for _, t := range r.targets {
		text.WriteString(t.edge.Target.Kind + "/" + t.edge.Target.Name + "=" + t.id + t.version + "\n")
	}
	return text.String()
}
