package catalogue_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// server does what the API server does with an object of a kind, CEL aside.
type server struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newServer(t *testing.T, c *catalogue.Catalogue, k *catalogue.Kind) server {
	t.Helper()
	crd, err := catalogue.CRD(c, []*catalogue.Kind{k})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	var schema apiextensions.JSONSchemaProps
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		v1.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	return server{structural, validator}
}

// check returns the API server's error for a spec, or nil.
func (s server) check(spec map[string]any) error {
	object := map[string]any{
		"apiVersion": "a/v1", "kind": "A", "metadata": map[string]any{"name": "a"}, "spec": runtime.DeepCopyJSON(spec),
	}
	if errs := validation.ValidateCustomResource(nil, object, s.validator); len(errs) > 0 {
		return errs.ToAggregate()
	}
	return nil
}

// store returns the spec as the API server keeps it.
func (s server) store(t *rapid.T, spec map[string]any) map[string]any {
	object := map[string]any{
		"apiVersion": "a/v1", "kind": "A", "metadata": map[string]any{"name": "a"}, "spec": runtime.DeepCopyJSON(spec),
	}
	pruning.Prune(object, s.structural, true)
	if err := s.check(spec); err != nil {
		t.Fatalf("the API server refuses the spec: %v\n%v", err, spec)
	}
	stored, _ := object["spec"].(map[string]any)
	return stored
}

// bodies draws ARM bodies of a shape, and now and then what the shape doesn't allow.
func body(t *rapid.T, s *catalogue.Shape, depth int) any {
	if rapid.IntRange(0, 15).Draw(t, "strange") == 0 {
		return strange(t)
	}
	switch s.Type {
	case catalogue.Object:
		return objectBody(t, s, depth)
	case catalogue.List:
		list := []any{}
		for range size(t, depth) {
			list = append(list, body(t, s.Items, depth-1))
		}
		return list
	case catalogue.Map, catalogue.IDMap:
		m := map[string]any{}
		for range size(t, depth) {
			m[rapid.SampledFrom([]string{"a", "/x/y", "a~b", network + "/parts/z"}).Draw(t, "key")] = body(t, s.Items, depth-1)
		}
		return m
	case catalogue.ID:
		return id(t)
	case catalogue.IDObject:
		m := map[string]any{"id": id(t)}
		if rapid.IntRange(0, 5).Draw(t, "more") == 0 {
			m["name"] = strange(t)
		}
		return m
	case catalogue.Boolean:
		return rapid.Bool().Draw(t, "bool")
	case catalogue.Integer, catalogue.IntOrString, catalogue.Number:
		return rapid.Int64Range(-2, 70000).Draw(t, "number")
	case catalogue.String:
		if len(s.Enum) > 0 {
			return rapid.SampledFrom(s.Enum).Draw(t, "enum")
		}
		return rapid.StringMatching(`[a-z0-9./]{0,12}`).Draw(t, "text")
	default:
		return strange(t)
	}
}

func objectBody(t *rapid.T, s *catalogue.Shape, depth int) any {
	m, nested := map[string]any{}, map[string]any{}
	for _, p := range s.Properties {
		if depth <= 0 || rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			continue
		}
		holder := m
		if p.Nested {
			holder = nested
		}
		holder[p.ARM] = body(t, p.Shape, depth-1)
	}
	if rapid.IntRange(0, 7).Draw(t, "unknown") == 0 {
		m[rapid.SampledFrom([]string{"later", "ref", "raw", "ownerRef", "properties", "a/b"}).Draw(t, "name")] = strange(t)
	}
	if rapid.IntRange(0, 7).Draw(t, "unknown") == 0 {
		nested["later"] = strange(t)
	}
	if len(nested) > 0 || rapid.IntRange(0, 7).Draw(t, "empty") == 0 {
		m["properties"] = nested
	}
	return m
}

func size(t *rapid.T, depth int) int {
	if depth <= 0 {
		return 0
	}
	return rapid.IntRange(0, 2).Draw(t, "size")
}

func id(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", "x", "/", network, network + "/parts/z", "/providers/My.Net/x/y", "/subscriptions/s/resourcegroups/g",
		"/subscriptions/s/resourceGroups/g/providers/My.Net/networks/other", "[expression()]",
	}).Draw(t, "id")
}

func strange(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, "text", int64(7), 1.5, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"a": []any{map[string]any{"b": nil}}},
	}).Draw(t, "strange value")
}

// TestBodiesComeBack: a body of a kind, even one that Azure would refuse, gives a spec that the API server
// accepts and stores whole, and the stored spec gives the body back, without secrets.
func TestBodiesComeBack(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	kinds := []*catalogue.Kind{sample(t).Default("My.Net/networks"), sample(t).Default("My.Net/networks/subnets")}
	for i, k := range c.Kinds() {
		if i%12 == 0 || k.Default && i%4 == 0 {
			kinds = append(kinds, k)
		}
	}
	for _, k := range kinds {
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		api := newServer(t, c, k)
		with := catalogue.Conversion{Parent: network, Name: "parts"}
		rapid.Check(t, func(t *rapid.T) {
			before, ok := body(t, definition.Body, 7).(map[string]any)
			if !ok {
				before = map[string]any{}
			}
			if rapid.Bool().Draw(t, "named") {
				before["name"] = "parts"
			}
			original := runtime.DeepCopyJSON(before)
			spec, rest, err := k.FromARM(before, with)
			if err != nil {
				t.Fatal(err)
			}
			catalogue.SetRest(spec, rest)
			spec["ownerRef"] = map[string]any{"azure": map[string]any{"subscription": "s"}}
			after, err := k.ToARM(api.store(t, spec), with)
			if err != nil {
				t.Fatalf("%s: %v", k.Type, err)
			}
			if diff := cmp.Diff(definition.Strip(original), after); diff != "" {
				t.Fatalf("%s (-before +after):\n%s\nspec: %v", k.Type, diff, spec)
			}
			if diff := cmp.Diff(original, before); diff != "" {
				t.Fatalf("FromARM changed the body:\n%s", diff)
			}
		})
	}
}
