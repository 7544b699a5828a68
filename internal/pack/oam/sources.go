package oam

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// namespaced implements sources for the ApplicationConfigurations of a namespace, from the caches
// of the pack.
type namespaced struct {
	*environment

	namespace string
	// asked are the kinds that plural was called for.
	asked map[schema.GroupKind]bool
}

func (e *environment) sourcesIn(namespace string) namespaced {
	return namespaced{e, namespace, map[schema.GroupKind]bool{}}
}

// noRevisionError says that the current spec of a Component has no revision yet. Usually the revision is recorded in a
// moment.
type noRevisionError struct{ *relation.FieldError }

// component implements sources. A Component without a revision for its current spec counts as
// missing: the workload has the revision as a label, so a workload without the revision would be
// written twice.
func (s namespaced) component(c *oamv1alpha2.ApplicationConfigurationComponent) (component, error) {
	if c.RevisionName != "" {
		return s.revision(c.RevisionName)
	}
	const field = "spec.components[*].componentName"
	found, _ := s.engine.Get(in(componentKind, s.namespace, c.ComponentName)).(*oamv1alpha2.Component)
	if found == nil {
		return component{}, relation.Wrong(field, "there is no Component/%s: create it", c.ComponentName)
	}
	revision, ok := latestRevision(found)
	if !ok {
		return component{}, &noRevisionError{relation.Wrong(field, "Component/%s has no revision yet", c.ComponentName)}
	}
	return component{found.Name, revision, found.Spec, found.Labels, found.Annotations, authorise.AuthorsOf(found)}, nil
}

// revision returns a Component as recorded in a ControllerRevision.
func (s namespaced) revision(name string) (component, error) {
	const field = "spec.components[*].revisionName"
	found, _ := s.engine.Get(in(revisionKind, s.namespace, name)).(*appsv1.ControllerRevision)
	if found == nil {
		return component{}, relation.Wrong(field, "there is no ControllerRevision/%s of a Component", name)
	}
	c, err := componentIn(found)
	if err != nil {
		return component{}, relation.Wrong(field, "%s", err)
	}
	recorded, _ := s.engine.Get(s.history.ParentOf(found)).(*oamv1alpha2.Component)
	if recorded == nil || !metav1.IsControlledBy(found, recorded) {
		return component{}, relation.Wrong(field, "ControllerRevision/%s does not belong to Component/%s: the Component "+
			"is not its controller", name, c.Name)
	}
	return component{c.Name, name, c.Spec, c.Labels, c.Annotations, authorise.AuthorsOf(found)}, nil
}

// componentIn returns the Component that a ControllerRevision records.
func componentIn(r *appsv1.ControllerRevision) (*oamv1alpha2.Component, error) {
	var c oamv1alpha2.Component
	if err := json.Unmarshal(r.Data.Raw, &c); err != nil {
		return nil, relation.Wrong("data of ControllerRevision/"+r.Name, "it is no Component: %s", err)
	}
	c.Name, c.Namespace = r.Labels[oamv1alpha2.LabelComponent], r.Namespace
	return &c, nil
}

func (e *environment) workloadDefinition(name string) *oamv1alpha2.WorkloadDefinition {
	found, _ := e.engine.Get(in(workloadDefinitionKind, "", name)).(*oamv1alpha2.WorkloadDefinition)
	return found
}

func (s namespaced) trait(name string) *oamv1alpha2.TraitDefinition {
	found, _ := s.engine.Get(in(traitDefinitionKind, "", name)).(*oamv1alpha2.TraitDefinition)
	return found
}

func (s namespaced) plural(gvk schema.GroupVersionKind) (string, bool) {
	s.asked[gvk.GroupKind()] = true
	mapping, err := s.watcher.Mapping(gvk)
	return mapping.Resource.Resource, err == nil
}

// usedObjects adds edges to the edges of an ApplicationConfiguration: to the definitions of its
// traits and scopes, and to the inputStore objects of its dataInputs. A change of such an object
// requeues the ApplicationConfiguration.
func (e *environment) usedObjects(id object.ID, obj client.Object, edges []relation.Edge) []relation.Edge {
	ac, ok := obj.(*oamv1alpha2.ApplicationConfiguration)
	if !ok {
		return edges
	}
	from := e.sourcesIn(ac.Namespace)
	add := func(target object.ID) {
		edges = append(edges, relation.Edge{
			Role: relation.Dependency, Declarer: id, Source: relation.Named(id), Target: relation.Named(target),
		})
	}
	addStores := func(inputs []oamv1alpha2.DataInput) {
		for _, input := range inputs {
			if input.InputStore.Kind != "" {
				add(idOf(input.InputStore.TypedReference, ac.Namespace))
			}
		}
	}
	for _, c := range ac.Spec.Components {
		addStores(c.DataInputs)
		for _, t := range c.Traits {
			addStores(t.DataInputs)
			if u, err := objectOf(t.Trait, ""); err == nil {
				plural, _ := from.plural(u.GroupVersionKind())
				add(in(traitDefinitionKind, "", definitionName(u, oamv1alpha2.LabelTraitType, plural)))
			}
		}
		for _, s := range c.Scopes {
			gvk := schema.FromAPIVersionAndKind(s.ScopeReference.APIVersion, s.ScopeReference.Kind)
			plural, _ := from.plural(gvk)
			add(in(scopeDefinitionKind, "", plural+"."+gvk.Group))
		}
	}
	return edges
}
