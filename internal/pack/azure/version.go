package azure

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// versions returns the versions in which a kind is enabled, the stored version first. The error
// names the first version that the catalogue does not have.
func versions(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, k *catalogue.Kind,
) ([]*catalogue.Kind, error) {
	crd, err := watch.ReadDefinition(ctx, c, nameOfKind(k))
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var enabled []*catalogue.Kind
	for _, version := range crd.Spec.Versions {
		gvk := k.GroupVersionKind()
		gvk.Version = version.Name
		known := all.Find(gvk)
		switch {
		case known == nil:
			return nil, &unknownVersion{k.Kind, version.Name}
		case version.Storage:
			enabled = append([]*catalogue.Kind{known}, enabled...)
		default:
			enabled = append(enabled, known)
		}
	}
	return enabled, nil
}

// define returns the CustomResourceDefinition of a kind with one more version, besides the versions
// in which the kind is enabled already. The error names each object that would lose a value in the
// new version.
func define(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, k *catalogue.Kind,
) (*unstructured.Unstructured, error) {
	enabled, err := versions(ctx, c, all, k)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(enabled, k) {
		if len(enabled) > 0 {
			if err := checkObjects(ctx, c, all, enabled[0], k); err != nil {
				return nil, err
			}
		}
		enabled = append(enabled, k)
	}
	return enabledDefinition(all, enabled)
}

// enabledDefinition returns the CustomResourceDefinition of a kind that is enabled in some versions, the stored
// version first.
func enabledDefinition(all *catalogue.Catalogue, enabled []*catalogue.Kind) (*unstructured.Unstructured, error) {
	crd, err := catalogue.CRD(all, enabled)
	if err != nil {
		return nil, err
	}
	if len(enabled) > 1 {
		keepUnknownIn(crd)
	}
	crd.SetLabels(enabledLabels())
	return crd, nil
}

// unknownVersion is the error of a kind that is enabled in a version which the catalogue does not have.
type unknownVersion struct{ kind, version string }

// Error implements error.
func (e *unknownVersion) Error() string {
	return fmt.Sprintf("%s is enabled in version %s, which this catalogue doesn't have: "+
		"use the catalogue with which it was enabled", e.kind, e.version)
}

// keepUnknownIn sets x-kubernetes-preserve-unknown-fields, so that the API server keeps fields in
// specs that a version does not have. The API server converts between versions only by a change of
// apiVersion: otherwise the API server would drop these fields when the operator, or a user, writes
// an object in the other version. The operator refuses an object with a field that the operator's
// version does not have, and no value is lost.
func keepUnknownIn(crd *unstructured.Unstructured) {
	listed, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	versions, _ := listed.([]any)
	for _, version := range versions {
		v, _ := version.(map[string]any)
		spec, _, _ := unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema", "properties", "spec")
		keepUnknown(spec)
	}
}

func keepUnknown(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		s["x-kubernetes-preserve-unknown-fields"] = true
		for _, property := range properties {
			keepUnknown(property)
		}
	}
	keepUnknown(s["items"])
	keepUnknown(s["additionalProperties"])
}

// page bounds each List of checkObjects.
const page = 500

// checkObjects refuses another version of a kind if the bodies of existing objects would differ.
// The error names all such objects.
func checkObjects(ctx context.Context, c client.Client, all *catalogue.Catalogue, from, to *catalogue.Kind) error {
	var problems []error
	next := ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(from.GroupVersionKind())
		if err := c.List(ctx, list, client.Limit(page), client.Continue(next)); err != nil {
			return fmt.Errorf("list %s: %w", from.Kind, err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if err := convertible(all, u, from, to); err != nil {
				problems = append(problems, fmt.Errorf("%s %s/%s: %w", from.Kind, u.GetNamespace(), u.GetName(), err))
			}
		}
		if next = list.GetContinue(); next == "" {
			break
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s is not enabled in version %s as well as in %s, %d objects would lose something:\n%w",
			from.Kind, to.Version, from.Version, len(problems), errors.Join(problems...))
	}
	return nil
}

// convertible returns an error if an object would have another body in another version.
func convertible(all *catalogue.Catalogue, u *unstructured.Unstructured, from, to *catalogue.Kind) error {
	spec, _ := u.Object["spec"].(map[string]any)
	with := catalogue.Conversion{
		Name: u.GetName(), Kinds: all,
		// Both versions resolve a reference to the same text.
		Resolve: func(named catalogue.KubernetesReference, _ []catalogue.Target) (string, error) {
			return strings.Join([]string{named.Group, named.Kind, named.Name, named.Path}, "/"), nil
		},
		Parent: catalogue.ExampleParent,
	}
	before, err := from.ToARM(spec, with)
	if err != nil {
		return nil //nolint:nilerr // the object is refused in its own version
	}
	after, err := to.ToARM(spec, with)
	if err != nil {
		return fmt.Errorf("in version %s: %w", to.Version, err)
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	paths := slices.Concat(azure.Compare(before, after, false), azure.Compare(after, before, false))
	slices.Sort(paths)
	return fmt.Errorf("in version %s another body would be sent, which differs in %s", to.Version,
		strings.Join(slices.Compact(paths), ", "))
}

// used returns an error if a kind has objects, in any of the versions in which the kind is enabled.
func used(ctx context.Context, c client.Client, k *catalogue.Kind) error {
	crd, err := watch.ReadDefinition(ctx, c, nameOfKind(k))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		gvk := k.GroupVersionKind()
		gvk.Version = version.Name
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("list %s: %w", k.Kind, err)
		}
		if len(list.Items) > 0 {
			found := list.Items[0]
			return fmt.Errorf("%s %s/%s exists", k.Kind, found.GetNamespace(), found.GetName())
		}
		return nil // Each version has all objects.
	}
	return nil
}
