package oam

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

// FuzzRender renders any application of any component: an error, or objects in the namespace of the
// application that the application controls, with authors that nobody else can set.
func FuzzRender(f *testing.F) {
	f.Add(mydb, mydbApplication)
	f.Fuzz(func(t *testing.T, componentText, applicationText string) {
		var c oamv1alpha2.Component
		var ac oamv1alpha2.ApplicationConfiguration
		if yaml.Unmarshal([]byte(componentText), &c) != nil || yaml.Unmarshal([]byte(applicationText), &ac) != nil {
			return
		}
		from := sourcesOf(t)
		from.components[c.Name] = c
		app, err := render(&ac, from)
		if err != nil {
			return
		}
		for _, o := range app.objects() {
			owners := o.GetOwnerReferences()
			if o.GetNamespace() != ac.Namespace || len(owners) != 1 || owners[0].UID != ac.UID {
				t.Errorf("%s is in namespace %s with owners %v", o.GetName(), o.GetNamespace(), owners)
			}
			if got := o.GetAnnotations()[authorise.AuthorsAnnotation]; got != "" {
				t.Errorf("%s has the authors %s", o.GetName(), got)
			}
		}
	})
}

// FuzzOperate changes an object by any operations: a reason, an error, or an object of the same kind,
// namespace and owner.
func FuzzOperate(f *testing.F) {
	f.Add(`[{type: jsonPatch, op: add, toFieldPath: data, value: "{}"}]`, "spec.a")
	f.Add(`[{type: jsonPatch, op: delete, toFieldPath: metadata.labels, valueFrom: {fieldPath: spec.a}}]`, "spec.a[0].b")
	f.Add(`[{type: jsonPatch, op: add, toFieldPath: data.a, toDataPath: "b[3].c", value: "1"}]`, "spec")
	f.Fuzz(func(t *testing.T, text, path string) {
		var operations []oamv1alpha2.DataOperation
		if yaml.Unmarshal([]byte(text), &operations) != nil || len(operations) > 16 {
			return
		}
		into := unstructuredOf(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","namespace":"n",
			"ownerReferences":[{"uid":"u"}]},"data":{"a":"{}"}}`)
		from := map[string]any{"spec": map[string]any{"a": []any{map[string]any{"b": "v"}}}}
		var x exchange
		if _, err := x.operate(into, from, operations, "f"); err != nil {
			return
		}
		if into.GetKind() != "ConfigMap" || into.GetNamespace() != "n" || len(into.GetOwnerReferences()) != 1 {
			t.Errorf("the object is %v", into.Object)
		}
		sink := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		_ = x.write(sink, "f", path, "v") // It must not panic.
	})
}
