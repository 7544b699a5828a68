package oam

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// controlledBy returns the objects of a kind that an object controls, in the order of their names.
func (e *environment) controlledBy(
	owner types.UID, namespace string, gk schema.GroupKind, labels map[string]string,
) []relation.Object {
	found, _ := e.watcher.List(relation.Ref{
		ID:       object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespace},
		Selector: &relation.Selector{Controller: owner, Labels: labels},
	})
	return found
}

// definitionOf returns the WorkloadDefinition that a workload has, if it exists: the label of the workload
// overrides the name PLURAL.GROUP.
func (e *environment) definitionOf(workload relation.Object) object.ID {
	mapping, _ := e.watcher.Mapping(workload.ID.GroupKind().WithVersion("")) // Without a mapping no object is listed.
	labels := &metav1.ObjectMeta{Labels: workload.Labels}
	name := oam.DefinitionName(labels, oamv1alpha2.LabelWorkloadType, mapping.Resource.GroupResource())
	return in(workloadDefinitionKind, "", name)
}

// unit is a workload with its children.
type unit struct {
	// outcome waits until the kinds of the workload and of its children are listed. Until then the other
	// fields are empty.
	outcome reconcile.Outcome
	// workload is nil if it does not exist.
	workload *relation.Object
	// isAlone says that the definition of the workload names no kinds of children, or that there is no
	// definition.
	isAlone bool
	// children are the objects of these kinds that the workload controls, and that have the labels of the
	// selector.
	children []relation.Object
}

// members returns the workload, if it exists, and then its children.
func (u unit) members() []relation.Object {
	if u.workload == nil {
		return nil
	}
	return append([]relation.Object{*u.workload}, u.children...)
}

// units returns workloads with their children. Changes of their definitions wake the user.
func (e *environment) units(user object.ID, workloads ...object.ID) map[object.ID]unit {
	kinds := make([]schema.GroupKind, 0, len(workloads))
	for _, id := range workloads {
		kinds = append(kinds, id.GroupKind())
	}
	e.watcher.Use(user, unique(kinds)...) // Before the definitions: a workload may override the name of its definition.
	definitions := map[object.ID]object.ID{}
	for _, id := range workloads {
		if workload, presence := e.watcher.Get(id); presence == relation.Present {
			definitions[id] = e.definitionOf(workload)
		}
	}
	e.definitions.WaitFor(user, slices.Collect(maps.Values(definitions))...)
	children := map[object.ID][]oamv1alpha2.ChildResourceKind{}
	for id, name := range definitions {
		if found, _ := e.engine.Get(name).(*oamv1alpha2.WorkloadDefinition); found != nil {
			children[id] = found.Spec.ChildResourceKinds
		}
	}
	for _, id := range workloads {
		kinds = append(kinds, kindsOf(children[id])...)
	}
	e.watcher.Use(user, unique(kinds)...)
	all := map[object.ID]unit{}
	for _, id := range workloads {
		all[id] = e.unit(id, children[id])
	}
	return all
}

func (e *environment) unit(id object.ID, kinds []oamv1alpha2.ChildResourceKind) unit {
	u := unit{outcome: e.listed(append(kindsOf(kinds), id.GroupKind())...), isAlone: len(kinds) == 0}
	workload, presence := e.watcher.Get(id)
	if !u.outcome.IsDone() || presence != relation.Present {
		return u
	}
	u.workload = &workload
	for _, child := range kinds {
		gk := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind).GroupKind()
		own := e.controlledBy(workload.UID, id.Namespace, gk, child.Selector)
		own = oam.Exposed(own, func(o relation.Object) map[string]string { return o.Labels })
		u.children = append(u.children, own...)
	}
	return u
}

func kindsOf(children []oamv1alpha2.ChildResourceKind) []schema.GroupKind {
	kinds := make([]schema.GroupKind, 0, len(children))
	for _, child := range children {
		kinds = append(kinds, schema.FromAPIVersionAndKind(child.APIVersion, child.Kind).GroupKind())
	}
	return kinds
}

// unique returns kinds without repetition, in their order.
func unique(kinds []schema.GroupKind) []schema.GroupKind {
	seen := map[schema.GroupKind]bool{}
	var all []schema.GroupKind
	for _, gk := range kinds {
		if !seen[gk] {
			seen[gk] = true
			all = append(all, gk)
		}
	}
	return all
}
