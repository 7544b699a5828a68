package oam

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// A workload may have the name of its WorkloadDefinition in the field type, and a trait the name of
// its TraitDefinition in the field name, instead of apiVersion and kind. admitter.mutate replaces
// both fields.

// typedWorkload replaces the field type of a workload. Without a field type, typedWorkload returns
// nil.
func (e *environment) typedWorkload(raw []byte) (map[string]any, error) {
	content, name, err := shortName(raw, "type")
	if err != nil || name == "" {
		return nil, err
	}
	definition := e.workloadDefinition(name)
	if definition == nil {
		return nil, relation.Wrong("spec.workload.type", "there is no WorkloadDefinition/%s", name)
	}
	gvk, err := e.kindOf(definition.Spec.Reference, "WorkloadDefinition/"+name)
	if err != nil {
		return nil, err
	}
	return named(content, gvk, "type", oamv1alpha2.LabelWorkloadType, name), nil
}

// typedTrait replaces the fields name and properties of a trait. Without a field name, typedTrait
// returns nil.
func (e *environment) typedTrait(raw []byte, field string) (map[string]any, error) {
	content, name, err := shortName(raw, "name")
	if err != nil || name == "" {
		return nil, err
	}
	definition := e.sourcesIn("").trait(name)
	if definition == nil {
		return nil, relation.Wrong(field+".name", "there is no TraitDefinition/%s", name)
	}
	gvk, err := e.kindOf(definition.Spec.Reference, "TraitDefinition/"+name)
	if err != nil {
		return nil, err
	}
	if properties, ok := content["properties"]; ok {
		content["spec"] = properties
		delete(content, "properties")
	}
	return named(content, gvk, "name", oamv1alpha2.LabelTraitType, name), nil
}

// shortName returns the content of an embedded object, and the name of the definition in a field.
func shortName(raw []byte, field string) (content map[string]any, name string, err error) {
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, "", fmt.Errorf("read embedded object: %w", err)
	}
	name, _ = content[field].(string)
	return content, name, nil
}

// named sets the kind and the label of the definition in an object, and deletes the short name.
func named(content map[string]any, gvk schema.GroupVersionKind, field, label, name string) map[string]any {
	delete(content, field)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label] = name
	u.SetLabels(labels)
	return u.Object
}

// kindOf returns the kind of the CustomResourceDefinition in a DefinitionReference.
func (e *environment) kindOf(ref oamv1alpha2.DefinitionReference, definition string) (schema.GroupVersionKind, error) {
	for _, k := range e.watcher.Served() {
		if k.Resource.Resource+"."+k.Resource.Group != ref.Name {
			continue
		}
		gvk := k.Resource.GroupVersion().WithKind(k.Kind)
		if ref.Version != "" {
			gvk.Version = ref.Version
		}
		return gvk, nil
	}
	return schema.GroupVersionKind{}, relation.Wrong("spec.definitionRef.name of "+definition,
		"the API server serves no %s", ref.Name)
}

// appliesTo reports whether a trait may be applied to a workload. spec.appliesToWorkloads of the
// TraitDefinition must be empty or contain "*", the name of the WorkloadDefinition, the name of the
// CustomResourceDefinition, the group as in "*.apps", or the kind as in "apps/v1.Deployment".
func appliesTo(list []string, workload *unstructured.Unstructured, plural string) bool {
	gvk := workload.GroupVersionKind()
	forms := []string{
		"*", "*." + gvk.Group, plural + "." + gvk.Group, workload.GetAPIVersion() + "." + gvk.Kind,
		definitionName(workload, oamv1alpha2.LabelWorkloadType, plural),
	}
	return len(list) == 0 || slices.ContainsFunc(list, func(form string) bool {
		return slices.Contains(forms, strings.TrimSpace(form))
	})
}
