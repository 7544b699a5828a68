package oam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
)

// Workload returns the workload that a TypedReference in a trait or a scope of a namespace names.
// The error names an empty field of the TypedReference.
func Workload(
	ctx context.Context, c client.Client, namespace string, ref oamv1alpha2.TypedReference,
) (*unstructured.Unstructured, error) {
	for field, value := range map[string]string{"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name} {
		if value == "" {
			return nil, fmt.Errorf("the reference to the workload has no %s", field)
		}
	}
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, workload); err != nil {
		return nil, fmt.Errorf("read workload %s %s: %w", ref.Kind, ref.Name, err)
	}
	return workload, nil
}

// DefinitionName returns the name of the definition of an object: the value of a label, such as
// [oamv1alpha2.LabelWorkloadType], or else the name of the CustomResourceDefinition, PLURAL.GROUP.
// The source is seed 5, "helper library".
func DefinitionName(obj metav1.Object, label string, resource schema.GroupResource) string {
	if name := obj.GetLabels()[label]; name != "" {
		return name
	}
	return resource.Resource + "." + resource.Group
}

// Definition returns the WorkloadDefinition of a workload, or nil if the WorkloadDefinition does
// not exist.
func Definition(
	ctx context.Context, c client.Client, workload *unstructured.Unstructured,
) (*oamv1alpha2.WorkloadDefinition, error) {
	gvk := workload.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of workload %s: %w", gvk.Kind, err)
	}
	name := DefinitionName(workload, oamv1alpha2.LabelWorkloadType, mapping.Resource.GroupResource())
	definition := &oamv1alpha2.WorkloadDefinition{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // As documented: a workload need not have a definition.
		}
		return nil, fmt.Errorf("read WorkloadDefinition %s: %w", name, err)
	}
	return definition, nil
}

// Children returns the children of a workload: of each kind in childResourceKinds of its
// WorkloadDefinition the objects that the workload controls, that have the labels of the selector,
// and that are [Exposed]. If the WorkloadDefinition does not exist or names no kinds, Children
// returns the workload itself.
func Children(
	ctx context.Context, c client.Client, namespace string, ref oamv1alpha2.TypedReference,
) ([]*unstructured.Unstructured, error) {
	workload, err := Workload(ctx, c, namespace, ref)
	if err != nil {
		return nil, err
	}
	definition, err := Definition(ctx, c, workload)
	if err != nil {
		return nil, err
	}
	if definition == nil || len(definition.Spec.ChildResourceKinds) == 0 {
		return []*unstructured.Unstructured{workload}, nil
	}
	var children []*unstructured.Unstructured
	for _, kind := range definition.Spec.ChildResourceKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind+"List"))
		if err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(kind.Selector)); err != nil {
			return nil, fmt.Errorf("list %s of workload %s: %w", kind.Kind, ref.Name, err)
		}
		var own []*unstructured.Unstructured
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], workload) {
				own = append(own, &list.Items[i])
			}
		}
		children = append(children, Exposed(own, (*unstructured.Unstructured).GetLabels)...)
	}
	return children, nil
}

// Exposed returns the children of one kind that traits may act on: the children with the label
// core.oam.dev/expose=true, or all children if no child has the label (seed 5, "Extra labels").
func Exposed[T any](children []T, labels func(T) map[string]string) []T {
	var exposed []T
	for _, child := range children {
		if labels(child)[oamv1alpha2.LabelExpose] == "true" {
			exposed = append(exposed, child)
		}
	}
	if len(exposed) == 0 {
		return children
	}
	return exposed
}

// Application returns the ApplicationConfiguration that controls an object, or nil if no
// ApplicationConfiguration does.
func Application(
	ctx context.Context, c client.Client, obj client.Object,
) (*oamv1alpha2.ApplicationConfiguration, error) {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != oamv1alpha2.KindApplicationConfiguration ||
		owner.APIVersion != oamv1alpha2.GroupVersion.String() {
		return nil, nil //nolint:nilnil // As documented.
	}
	ac := &oamv1alpha2.ApplicationConfiguration{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: owner.Name}, ac); err != nil {
		return nil, fmt.Errorf("read the application of %s: %w", obj.GetName(), err)
	}
	if ac.UID != owner.UID {
		return nil, fmt.Errorf("the application of %s was deleted, and another has its name", obj.GetName())
	}
	return ac, nil
}
