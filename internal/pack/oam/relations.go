package oam

import (
	"fmt"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Relations returns the relations of the pack's kinds.
func Relations() []relation.Relation {
	return []relation.Relation{
		applicationComponent, applicationRevision, applicationScope, applicationObject,
		workloadChild, scalerWorkload, scopeWorkload,
	}
}

var (
	applicationComponent = relation.Reference{
		Name: "applicationconfiguration-component", Role: relation.Dependency, Declarer: applicationKind.GroupKind(),
		Path: relation.MustPath("spec.components[*].componentName"), Target: componentKind.GroupKind(),
		Doc: "An ApplicationConfiguration renders the workload of each Component that it names.",
	}.Relation()
	applicationRevision = relation.Reference{
		Name: "applicationconfiguration-revision", Role: relation.Dependency, Declarer: applicationKind.GroupKind(),
		Path: relation.MustPath("spec.components[*].revisionName"), Target: revisionKind.GroupKind(),
		Doc: "An ApplicationConfiguration renders the workload of a Component as it was in a revision.",
	}.Relation()
	applicationScope = relation.Relation{
		Name: "applicationconfiguration-scope", Role: relation.Binding, Declarer: applicationKind.GroupKind(),
		Field: "spec.components[*].scopes[*].scopeRef",
		Doc:   "A component of an ApplicationConfiguration is in a scope.",
		Extract: relation.Typed(func(ac *oamv1alpha2.ApplicationConfiguration, _ relation.Kinds) []relation.Edge {
			var edges []relation.Edge
			for i, c := range ac.Spec.Components {
				for j, s := range c.Scopes {
					edges = append(edges, edge("applicationconfiguration-scope", relation.Binding,
						object.Of(ac, applicationKind.GroupKind()), s.ScopeReference,
						fmt.Sprintf("spec.components[%d].scopes[%d].scopeRef", i, j)))
				}
			}
			return edges
		}),
	}
	applicationObject = relation.Relation{
		Name: "applicationconfiguration-object", Role: relation.Composition, Declarer: applicationKind.GroupKind(),
		Field: "status.workloads",
		Doc:   "An ApplicationConfiguration is made of workloads and traits.",
		Extract: relation.Typed(func(ac *oamv1alpha2.ApplicationConfiguration, _ relation.Kinds) []relation.Edge {
			var edges []relation.Edge
			id := object.Of(ac, applicationKind.GroupKind())
			for i, w := range ac.Status.Workloads {
				field := fmt.Sprintf("status.workloads[%d]", i)
				edges = append(edges, edge("applicationconfiguration-object", relation.Composition, id, w.Reference,
					field+".workloadRef"))
				for j, t := range w.Traits {
					edges = append(edges, edge("applicationconfiguration-object", relation.Composition, id, t.Reference,
						fmt.Sprintf("%s.traits[%d].traitRef", field, j)))
				}
			}
			return edges
		}),
	}
	workloadChild = relation.Relation{
		Name: "containerizedworkload-object", Role: relation.Composition, Declarer: containerizedKind.GroupKind(),
		Field: "status.resources",
		Doc:   "A ContainerizedWorkload is made of a Deployment, ConfigMaps and a Service.",
		Extract: relation.Typed(func(w *oamv1alpha2.ContainerizedWorkload, _ relation.Kinds) []relation.Edge {
			edges := make([]relation.Edge, 0, len(w.Status.Resources))
			for i, r := range w.Status.Resources {
				edges = append(edges, edge("containerizedworkload-object", relation.Composition,
					object.Of(w, containerizedKind.GroupKind()), r, fmt.Sprintf("status.resources[%d]", i)))
			}
			return edges
		}),
	}
	scalerWorkload = relation.Relation{
		Name: "manualscalertrait-workload", Role: relation.Binding, Declarer: scalerKind.GroupKind(),
		Field: "spec.workloadRef",
		Doc:   "A ManualScalerTrait sets the number of Pods of a workload or of its children.",
		Extract: relation.Typed(func(t *oamv1alpha2.ManualScalerTrait, _ relation.Kinds) []relation.Edge {
			return []relation.Edge{edge("manualscalertrait-workload", relation.Binding,
				object.Of(t, scalerKind.GroupKind()), t.Spec.WorkloadReference, "spec.workloadRef")}
		}),
	}
	scopeWorkload = relation.Relation{
		Name: "healthscope-workload", Role: relation.Binding, Declarer: healthScopeKind.GroupKind(),
		Field: "spec.workloadRefs",
		Doc:   "A HealthScope sums up the health of workloads.",
		Extract: relation.Typed(func(s *oamv1alpha2.HealthScope, _ relation.Kinds) []relation.Edge {
			edges := make([]relation.Edge, 0, len(s.Spec.WorkloadReferences))
			for i, r := range s.Spec.WorkloadReferences {
				edges = append(edges, edge("healthscope-workload", relation.Binding,
					object.Of(s, healthScopeKind.GroupKind()), r, fmt.Sprintf("spec.workloadRefs[%d]", i)))
			}
			return edges
		}),
	}
)

// edge returns the relation.Edge of a TypedReference.
func edge(name string, role relation.Role, from object.ID, ref oamv1alpha2.TypedReference, field string) relation.Edge {
	return relation.Edge{
		Relation: name, Role: role, Declarer: from, Source: relation.Named(from),
		Target: relation.Named(idOf(ref, from.Namespace)), Field: field,
	}
}
