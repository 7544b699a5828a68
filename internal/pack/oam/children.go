package oam

import (
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

// workloadDefinition returns the definition of a workload's kind, or nil: the label of the workload
// overrides the name PLURAL.GROUP.
func (e *environment) workloadDefinition(workload relation.Object) *oamv1alpha2.WorkloadDefinition {
	mapping, err := e.watcher.Mapping(workload.ID.GroupKind().WithVersion(""))
	if err != nil {
		return nil
	}
	labels := &metav1.ObjectMeta{Labels: workload.Labels}
	name := oam.DefinitionName(labels, oamv1alpha2.LabelWorkloadType, mapping.Resource.GroupResource())
	found, _ := e.engine.Get(in(workloadDefinitionKind, "", name)).(*oamv1alpha2.WorkloadDefinition)
	return found
}

// members returns a workload and, if its definition names kinds of children, its children: the objects
// of these kinds that the workload controls, and that have the labels of the selector. The outcome
// waits until all kinds are listed.
func (e *environment) members(user object.ID, refs ...object.ID) (map[object.ID][]relation.Object, reconcile.Outcome) {
	kinds := make([]schema.GroupKind, 0, len(refs))
	for _, id := range refs {
		kinds = append(kinds, id.GroupKind())
	}
	kinds = unique(kinds)
	if outcome := e.watching(user, kinds...); !outcome.IsDone() {
		return nil, outcome
	}
	definitions := map[object.ID]*oamv1alpha2.WorkloadDefinition{}
	for _, id := range refs {
		workload, presence := e.watcher.Get(id)
		if presence != relation.Present {
			continue
		}
		definitions[id] = e.workloadDefinition(workload)
		for _, gvk := range childrenOf(definitions[id]) {
			kinds = append(kinds, gvk.GroupKind())
		}
	}
	if outcome := e.watching(user, unique(kinds)...); !outcome.IsDone() {
		return nil, outcome
	}
	all := map[object.ID][]relation.Object{}
	for id, definition := range definitions {
		workload, _ := e.watcher.Get(id)
		all[id] = []relation.Object{workload}
		if definition == nil {
			continue
		}
		for _, child := range definition.Spec.ChildResourceKinds {
			gk := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind).GroupKind()
			own := e.controlledBy(workload.UID, id.Namespace, gk, child.Selector)
			own = oam.Exposed(own, func(o relation.Object) map[string]string { return o.Labels })
			all[id] = append(all[id], own...)
		}
	}
	return all, reconcile.Outcome{}
}

func childrenOf(definition *oamv1alpha2.WorkloadDefinition) []schema.GroupVersionKind {
	if definition == nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for _, child := range definition.Spec.ChildResourceKinds {
		kinds = append(kinds, schema.FromAPIVersionAndKind(child.APIVersion, child.Kind))
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
