package openstack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// without drops a field from a schema, and the rules about the field.
func without(s *schema, path string) {
	name, rest, more := strings.Cut(path, ".")
	of, listed := s, strings.HasSuffix(name, "[]")
	name = strings.TrimSuffix(name, "[]")
	p := of.Properties[name]
	switch {
	case more && listed:
		without(p.Items.Schema, rest)
	case more:
		without(&p, rest)
	default:
		delete(of.Properties, name)
		of.XValidations = slices.DeleteFunc(of.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return strings.Contains(r.Rule, "self."+name)
		})
		return
	}
	of.Properties[name] = p
}

// with adds a text to the fields of an object in a schema.
func with(s *schema, path string) {
	name, rest, more := strings.Cut(path, ".")
	p := s.Properties[name]
	if more {
		with(&p, rest)
	} else {
		p = schema{Type: "string"}
	}
	s.Properties[name] = p
}

// asTheirs returns the definition of a kind without the fields that only ours has, and with the
// fields that only theirs has, as strings.
func asTheirs(t *testing.T, k publishedKind) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := definitionOf(t, k.plural)
	ours := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, d := range differences(k.kind, publishedFields(t)[k.kind], ourFields(ours)) {
		switch d.subject {
		case "new":
			without(ours, d.field)
		case "missing":
			with(ours, d.field)
		}
	}
	return crd
}

// redefine replaces the definitions of all kinds, and waits until the API server uses them.
func redefine(
	t *testing.T, worlds []*world, definition func(*testing.T, publishedKind) *apiextensionsv1.CustomResourceDefinition,
) {
	t.Helper()
	t.Cleanup(func() { // Other tests need our definitions, however this test ends.
		for _, k := range publishedKinds {
			if err := replaceDefinition(context.WithoutCancel(t.Context()), worlds[0].c, ourDefinition(t, k)); err != nil {
				t.Error(err)
			}
		}
	})
	takes := map[string]bool{}
	for _, k := range publishedKinds {
		crd := definition(t, k)
		if err := replaceDefinition(t.Context(), worlds[0].c, crd); err != nil {
			t.Fatal(err)
		}
		_, takes[k.kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["place"]
	}
	seen := map[string]bool{} // A definition is of all namespaces, so one object of a kind shows it.
	for _, w := range worlds {
		for _, u := range w.objects() {
			if kind := u.GetKind(); !seen[kind] {
				seen[kind] = true
				w.awaitPlace(u, takes[kind])
			}
		}
	}
}

func replaceDefinition(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Get(ctx, client.ObjectKeyFromObject(crd), now); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	now.Object["spec"] = content["spec"]
	return c.Update(ctx, now)
}

// awaitPlace waits until objects of the kind of an object may have status.place, or may not.
func (w *world) awaitPlace(u *unstructured.Unstructured, want bool) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		p := partial(u)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"place":"probe"}}`))
		if err := w.c.Status().Patch(w.t.Context(), p, patch, client.DryRunAll); err != nil {
			return err
		}
		if _, has, _ := unstructured.NestedString(p.Object, "status", "place"); has != want {
			return fmt.Errorf("%s takes status.place: %t", u.GetKind(), has)
		}
		return nil
	})
}

func ourDefinition(t *testing.T, k publishedKind) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return definitionOf(t, k.plural)
}
