package relation_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const toys = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.schema.example}
spec:
  group: schema.example
  names: {kind: Toy, listKind: ToyList, plural: toys, singular: toy}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                ref: {type: object, properties: {name: {type: string}}}
                refs: {type: array, items: {type: object, properties: {name: {type: string}}}}
                count: {type: integer}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                labels: {type: object, additionalProperties: {type: string}}`

// TestSchemas checks paths against the schemas of a CustomResourceDefinition and of a built-in kind.
func TestSchemas(t *testing.T) {
	testenv.Apply(t, toys)
	client, err := discovery.NewDiscoveryClientForConfig(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	schemas := relation.NewSchemas(client.OpenAPIV3())
	toy := schema.GroupVersionKind{Group: "schema.example", Version: "v1", Kind: "Toy"}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	testenv.Eventually(t, func() error { // The API server publishes the schema a moment after the definition.
		known, err := schemas.Check(toy, relation.MustPath("spec.ref"), relation.TypeObject)
		if !known && err == nil {
			err = errors.New("the schema of Toys is not known")
		}
		return err
	})
	for _, c := range []struct {
		gvk        schema.GroupVersionKind
		path, want string
		wrong      string
	}{
		{toy, "spec.ref", relation.TypeObject, ""},
		{toy, "spec.refs", relation.TypeList, ""},
		{toy, "spec.refs[3]", relation.TypeObject, ""},
		{toy, "spec.refs[*].name", relation.TypeObject, "spec.refs[*].name: it is no object in the schema of the kind"},
		{toy, "spec.free.any[2].thing", relation.TypeObject, ""},
		{toy, "spec.workloadRef", relation.TypeObject, "spec.workloadRef: the schema of the kind has no such field"},
		{toy, "specs.ref", relation.TypeObject, "specs: the schema of the kind has no such field"},
		{toy, "spec.count.a", relation.TypeObject, "spec.count.a: the schema of the kind has no such field"},
		{toy, "spec.count[0]", relation.TypeObject, "spec.count: it is no list in the schema of the kind"},
		{toy, "spec.ref", relation.TypeList, "spec.ref: it is no list in the schema of the kind"},
		{toy, "spec.labels.a", relation.TypeObject, "spec.labels.a: it is no object in the schema of the kind"},
		{toy, "metadata.name.a", relation.TypeObject, "metadata.name.a: the schema of the kind has no such field"},
		{deployment, "spec.template.spec.containers", relation.TypeList, ""},
		{
			deployment, "spec.template.spec.containers[0].envs", relation.TypeList,
			"spec.template.spec.containers[*].envs: the schema of the kind has no such field",
		},
	} {
		known, err := schemas.Check(c.gvk, relation.MustPath(c.path), c.want)
		got, isWrong := errors.AsType[*relation.FieldError](err)
		if !known || (c.wrong != "") != isWrong || isWrong && got.Error() != c.wrong {
			t.Errorf("%s of %s: known is %t, error %v, want %q", c.path, c.gvk.Kind, known, err, c.wrong)
		}
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "none.example", Version: "v1", Kind: "Toy"}, {Group: "schema.example", Version: "v1", Kind: "None"},
	} {
		if known, err := schemas.Check(gvk, relation.MustPath("spec"), relation.TypeObject); known || err != nil {
			t.Errorf("the schema of %s is known: %t, error %v", gvk, known, err)
		}
	}
}
