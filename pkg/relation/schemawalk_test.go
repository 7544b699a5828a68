package relation

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCheckSchema walks schemas that a definition or an aggregated API server may have: references, free
// objects, and schemas without a type.
func TestCheckSchema(t *testing.T) {
	const document = `
root:
  type: object
  properties:
    named: {$ref: '#/components/schemas/inner'}
    wrapped: {allOf: [{$ref: '#/components/schemas/inner'}], default: {}}
    two: {allOf: [{$ref: '#/components/schemas/inner'}, {type: string}]}
    lost: {$ref: '#/components/schemas/nowhere'}
    round: {$ref: '#/components/schemas/round'}
    raw: {type: object}
    any: {}
    open: {type: object, additionalProperties: true}
    closed: {type: object, additionalProperties: false}
    lists: {type: object, additionalProperties: {type: array, items: {$ref: '#/components/schemas/inner'}}}
    half: {type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
    text: {type: string}
inner: {type: object, properties: {name: {type: string}, more: {type: array, items: {type: object}}}}
round: {$ref: '#/components/schemas/round'}
`
	var schemas map[string]any
	if err := yaml.Unmarshal([]byte(document), &schemas); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, wrong string }{
		{"named", TypeObject, ""},
		{"named.more", TypeList, ""},
		{"named.more[0]", TypeObject, ""},
		{"named.name", TypeList, "named.name: it is no list in the schema of the kind"},
		{"named.other", TypeObject, "named.other: the schema of the kind has no such field"},
		{"wrapped.more", TypeList, ""},
		{"wrapped.other", TypeObject, "wrapped.other: the schema of the kind has no such field"},
		{"two.anything", TypeObject, ""}, // Such a schema is not read: nothing is known to be wrong.
		{"lost.anything", TypeList, ""},
		{"round.anything", TypeObject, ""},
		{"raw.anything[3].deep", TypeList, ""},
		{"any.thing", TypeObject, ""},
		{"any[0]", TypeObject, ""},
		{"open.anything", TypeObject, ""},
		{"closed.anything", TypeObject, "closed.anything: the schema of the kind has no such field"},
		{"lists.any[2].name", TypeObject, "lists.any[*].name: it is no object in the schema of the kind"},
		{"lists.any.name", TypeObject, "lists.any.name: the schema of the kind has no such field"},
		{"half.b.c", TypeList, ""},
		{"half.a", TypeObject, "half.a: it is no object in the schema of the kind"},
		{"text.a", TypeObject, "text.a: the schema of the kind has no such field"},
		{"text['a b']", TypeObject, "text['a b']: the schema of the kind has no such field"},
	} {
		got := ""
		if wrong := checkSchema(schemas, at(schemas, "root"), MustPath(c.path), c.want); wrong != nil {
			got = fmt.Sprint(wrong)
		}
		if got != c.wrong {
			t.Errorf("%s as %s: %q, want %q", c.path, c.want, got, c.wrong)
		}
	}
}
