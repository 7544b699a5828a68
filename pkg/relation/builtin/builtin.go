package builtin

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// entry is a reference that one or several kinds have in a field of the same meaning.
type entry struct {
	name string // of the relation, after the kind
	path string // below the prefix of a kind
	to   schema.GroupKind

	role      relation.Role // Dependency if empty
	form      relation.Form
	namespace string // the field with the target's namespace, if there is one
	later     bool
	finalizer string
	only      func(declarer, holder map[string]any) bool
}

// carrier is a kind that has the fields of some entries below a prefix.
type carrier struct {
	kind   schema.GroupKind
	prefix string
}

// Relations returns the relations of Kubernetes' own kinds, in a fixed order. The slice belongs
// to the caller. Kinds that a cluster does not serve do no harm.
func Relations() []relation.Relation {
	var all []relation.Relation
	for _, t := range tables() {
		for _, c := range t.carriers {
			for _, e := range t.entries {
				all = append(all, e.relation(c))
			}
		}
	}
	return all
}

// table says which kinds have which references.
type table struct {
	carriers []carrier
	entries  []entry
}

func (e entry) relation(c carrier) relation.Relation {
	target := "any kind"
	if e.to.Kind != "" {
		target = e.to.Kind
	}
	return relation.Reference{
		Name:      strings.ToLower(c.kind.Kind) + "-" + e.name,
		Role:      cmp.Or(e.role, relation.Dependency),
		Doc:       c.prefix + e.path + " names " + target,
		Declarer:  c.kind,
		Path:      relation.MustPath(c.prefix + e.path),
		Form:      e.form,
		Target:    e.to,
		Namespace: e.namespace,
		Later:     e.later,
		Finalizer: e.finalizer,
		Only:      e.only,
	}.Relation()
}

// needs is a reference by name, without which the declarer does not work.
func needs(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to}
}

// mayNeed is a reference by name, without which the declarer works as well.
func mayNeed(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to, later: true}
}

// unlessOptional is a reference by name, beside which a field "optional" may be true: then the
// declarer works without the target. It is two relations, because one relation is either.
func unlessOptional(name, path string, to schema.GroupKind) []entry {
	optional := func(_, holder map[string]any) bool { set, _ := holder["optional"].(bool); return set }
	required := needs(name, path, to)
	required.only = func(declarer, holder map[string]any) bool { return !optional(declarer, holder) }
	other := mayNeed(name+"-optional", path, to)
	other.only = optional
	return []entry{required, other}
}

// across is a reference by name, beside which a field holds the target's namespace.
func across(name, path string, to schema.GroupKind, namespace string) entry {
	return entry{name: name, path: path, to: to, namespace: namespace}
}

// typed is a reference by apiVersion or group, kind and name. A zero kind means any.
func typed(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to, form: relation.ByKind}
}

// actsOn makes a reference one by which the declarer acts on the target.
func (e entry) actsOn() entry {
	e.role = relation.Binding
	return e
}

// in says which field holds the target's namespace.
func (e entry) in(namespace string) entry {
	e.namespace = namespace
	return e
}

// selects is a selector: the declarer acts on what it selects.
func selects(name, path string, to schema.GroupKind, form relation.Form) entry {
	return entry{name: name, path: path, to: to, role: relation.Binding, form: form}
}

func core(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }

func kind(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }

func at(gk schema.GroupKind, prefix string) carrier { return carrier{kind: gk, prefix: prefix} }

// one is the table of a single kind.
func one(gk schema.GroupKind, prefix string, entries ...entry) table {
	return table{carriers: []carrier{at(gk, prefix)}, entries: entries}
}

func tables() []table {
	return slices.Concat(pods(), workloads(), storage(), network(), access(), extension())
}
