package builtin

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// entry is a reference that several kinds have in a field of the same meaning, such as
// serviceAccountName in each kind with a PodSpec.
type entry struct {
	name string // of the relation, after the kind: "serviceaccount" of deployment-serviceaccount
	path string // below the prefix of a kind
	to   schema.GroupKind

	role      relation.Role // Dependency if empty
	form      relation.Form
	namespace string // the field with the target's namespace, if there is one
	later     bool
	finalizer string
	only      func(declarer, holder map[string]any) bool
}

// carrier is a kind with the fields of some entries below a prefix, such as Deployment with
// "spec.template.spec.".
type carrier struct {
	kind   schema.GroupKind
	prefix string
}

// Relations returns each [relation.Relation] of Kubernetes' own kinds, in a fixed order. The
// slice belongs to the caller. A relation of a kind that the cluster does not serve yields no
// edges.
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

// table says which carriers have which entries.
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

// needs is a reference by name that the declarer can't work without: a Pod does not start
// without its ServiceAccount.
func needs(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to}
}

// mayNeed is a reference by name that the declarer can work without: a Pod starts without a
// Secret in imagePullSecrets, if the registry allows the pull.
func mayNeed(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to, later: true}
}

// unlessOptional is a reference by name with a field "optional" beside the name, such as
// secretKeyRef.optional. If "optional" is true, the declarer works without the target.
// Relation.Later holds for all edges of a relation, so unlessOptional returns two relations.
func unlessOptional(name, path string, to schema.GroupKind) []entry {
	optional := func(_, holder map[string]any) bool { set, _ := holder["optional"].(bool); return set }
	required := needs(name, path, to)
	required.only = func(declarer, holder map[string]any) bool { return !optional(declarer, holder) }
	other := mayNeed(name+"-optional", path, to)
	other.only = optional
	return []entry{required, other}
}

// across is a reference by name with a field beside the name for the namespace of the target,
// such as claimRef.namespace of a PersistentVolume.
func across(name, path string, to schema.GroupKind, namespace string) entry {
	return entry{name: name, path: path, to: to, namespace: namespace}
}

// typed is a reference by apiVersion or apiGroup, kind and name ([relation.ByKind]). A zero
// kind means any kind.
func typed(name, path string, to schema.GroupKind) entry {
	return entry{name: name, path: path, to: to, form: relation.ByKind}
}

// actsOn sets the role [relation.Binding]: the declarer acts on the target.
func (e entry) actsOn() entry {
	e.role = relation.Binding
	return e
}

// in sets the field for the namespace of the target.
func (e entry) in(namespace string) entry {
	e.namespace = namespace
	return e
}

// selects is a selector with the role [relation.Binding]: a PodDisruptionBudget acts on the
// Pods that spec.selector selects.
func selects(name, path string, to schema.GroupKind, form relation.Form) entry {
	return entry{name: name, path: path, to: to, role: relation.Binding, form: form}
}

func core(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }

func kind(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }

func at(gk schema.GroupKind, prefix string) carrier { return carrier{kind: gk, prefix: prefix} }

// one returns a table for a single kind.
func one(gk schema.GroupKind, prefix string, entries ...entry) table {
	return table{carriers: []carrier{at(gk, prefix)}, entries: entries}
}

func tables() []table {
	return slices.Concat(pods(), workloads(), storage(), network(), access(), extension())
}
