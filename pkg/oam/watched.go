package oam

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Watched finds the children of workloads of any kind in the stores of a [relation.Watcher], for
// controllers of many traits and scopes: unlike [Children], Watched sends no request. Watched is
// safe for concurrent use.
type Watched struct {
	Watcher *relation.Watcher
	// Definition returns a WorkloadDefinition from a cache, or nil if the WorkloadDefinition does
	// not exist.
	Definition func(name string) *oamv1alpha2.WorkloadDefinition

	users apply.Waiters // of definitions
}

var workloadDefinitionKind = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindWorkloadDefinition)

// Unit is a workload with its children.
type Unit struct {
	// Kinds are the kinds of the workload and of its children. Until all Kinds are listed
	// (relation.Watcher.Ready), Workload and Children are empty.
	Kinds []schema.GroupKind
	// Workload is nil if the workload does not exist.
	Workload *relation.Object
	// IsAlone says that the WorkloadDefinition names no childResourceKinds, or does not exist. A
	// trait then acts on the workload itself.
	IsAlone bool
	// Children are the objects of the kinds in childResourceKinds that the workload controls, that
	// have the labels of the selector, and that are [Exposed].
	Children []relation.Object
}

// Members returns the workload, if the workload exists, and then its children.
func (u Unit) Members() []relation.Object {
	if u.Workload == nil {
		return nil
	}
	return append([]relation.Object{*u.Workload}, u.Children...)
}

// Targets returns the objects that a trait acts on: [Unit] Children or, with IsAlone, the workload.
func (u Unit) Targets() []relation.Object {
	if u.IsAlone {
		return u.Members()
	}
	return u.Children
}

// Units returns workloads with their children. Units makes [relation.Watcher] watch the kinds of
// all these objects for a user, such as a trait or a scope, in place of the workloads of the
// previous call. Without workloads, Units ends the watches of the user.
func (w *Watched) Units(user object.ID, workloads ...object.ID) map[object.ID]Unit {
	kinds := make([]schema.GroupKind, 0, len(workloads))
	for _, id := range workloads {
		kinds = append(kinds, id.GroupKind())
	}
	w.Watcher.Use(user, kinds...) // Before the definitions: a workload may override the name of its definition.
	definitions := map[object.ID]object.ID{}
	for _, id := range workloads {
		if workload, presence := w.Watcher.Get(id); presence == relation.Present {
			definitions[id] = w.definitionOf(workload)
		}
	}
	w.users.WaitFor(user, slices.Collect(maps.Values(definitions))...) // Before a definition is read.
	children := map[object.ID][]oamv1alpha2.ChildResourceKind{}
	for id, name := range definitions {
		if found := w.Definition(name.Name); found != nil {
			children[id] = found.Spec.ChildResourceKinds
		}
	}
	for _, id := range workloads {
		kinds = append(kinds, kindsOf(children[id])...)
	}
	w.Watcher.Use(user, kinds...)
	all := map[object.ID]Unit{}
	for _, id := range workloads {
		all[id] = w.unit(id, children[id])
	}
	return all
}

// Users returns the users of a WorkloadDefinition: the objects whose last [Watched.Units] call was
// for a workload with that WorkloadDefinition, even if the WorkloadDefinition does not exist. A
// change of the WorkloadDefinition concerns its users.
func (w *Watched) Users(definition string) []object.ID {
	return w.users.WaitingFor(definitionID(definition))
}

func definitionID(name string) object.ID {
	return object.ID{Group: workloadDefinitionKind.Group, Kind: workloadDefinitionKind.Kind, Name: name}
}

// definitionOf returns the ID of a workload's WorkloadDefinition, which may not exist
// ([DefinitionName]).
func (w *Watched) definitionOf(workload relation.Object) object.ID {
	mapping, _ := w.Watcher.Mapping(workload.ID.GroupKind().WithVersion("")) // Without a mapping no object is listed.
	labels := &metav1.ObjectMeta{Labels: workload.Labels}
	return definitionID(DefinitionName(labels, oamv1alpha2.LabelWorkloadType, mapping.Resource.GroupResource()))
}

func (w *Watched) unit(id object.ID, kinds []oamv1alpha2.ChildResourceKind) Unit {
	u := Unit{Kinds: append(kindsOf(kinds), id.GroupKind()), IsAlone: len(kinds) == 0}
	workload, presence := w.Watcher.Get(id)
	isUnlisted := func(gk schema.GroupKind) bool { return !w.Watcher.Ready(gk) }
	if presence != relation.Present || slices.ContainsFunc(u.Kinds, isUnlisted) {
		return u
	}
	u.Workload = &workload
	for _, child := range kinds {
		gk := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind).GroupKind()
		own, _ := w.Watcher.List(relation.Ref{
			ID:       object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: id.Namespace},
			Selector: &relation.Selector{Controller: workload.UID, Labels: child.Selector},
		})
		own = Exposed(own, func(o relation.Object) map[string]string { return o.Labels })
		u.Children = append(u.Children, own...)
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
