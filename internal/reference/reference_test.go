package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/reference"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    schema: &schema
      openAPIV3Schema:
        description: "Thing is <one>\nof many."
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          metadata: {type: object}
          spec:
            type: object
            description: "Spec | of it.\n\nMore."
            properties:
              color: {type: string, enum: [red, blue], default: red}
              ports:
                type: array
                maxItems: 1
                x-kubernetes-list-type: set
                items: {type: integer, format: int32, minimum: 1, maximum: 9}
              users:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, minLength: 2, maxLength: 2}}}
              labels: {type: object, minProperties: 1, additionalProperties: {type: string, pattern: "a|b"}}
              free: {x-kubernetes-preserve-unknown-fields: true}
            x-kubernetes-validations:
            - {rule: "has(self.color)", message: give a color}
            - {rule: "self == oldSelf"}
          status:
            type: object
            properties:
              conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
  - {name: v2, schema: *schema}
  - {name: v3, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
`

const page = "<!-- Written by make generate from config/crd: do not edit. -->" + `
# example.com

| kind | versions | scope |
|---|---|---|
| [Thing](#thing) | v1, v2, v3 | Namespaced |

'[]' stands for each item of a list, '{}' for each value of a map. Fields of 'metadata' and of
'status.conditions[]' are those of all kinds of Kubernetes.

## Thing

'things.example.com', version v1 and v2.

Thing is \<one>
of many.

| field | type | rules | |
|---|---|---|---|
| 'spec' | object | required; give a color; 'self == oldSelf' | Spec \| of it.<br>More. |
| 'spec.color' | string | default '"red"'; '"red"', '"blue"' |  |
| 'spec.free' | any |  |  |
| 'spec.labels' | map of string | at least 1 property |  |
| 'spec.labels{}' | string | pattern 'a\|b' |  |
| 'spec.ports' | list of integer (int32) | at most 1 item; no item twice |  |
| 'spec.ports[]' | integer (int32) | 1 to 9 |  |
| 'spec.users' | list of object | one item for each name |  |
| 'spec.users[].name' | string | required; 2 characters |  |
| 'status' | object |  |  |
| 'status.conditions' | list of object |  |  |

'things.example.com', version v3.



| field | type | rules | |
|---|---|---|---|
| 'spec' | object |  |  |
`

func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := reference.Pages(fstest.MapFS{"crd/a.yaml": {Data: []byte(definition)}}, "crd")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"example.com": strings.ReplaceAll(page, "'", "`")}, pages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := reference.Pages(fstest.MapFS{"crd/a.yaml": {Data: []byte("a: b")}}, "crd"); err == nil {
		t.Error("what is no definition is taken")
	}
}

// TestCommitted: docs/reference equals the text generated from the definitions.
func TestCommitted(t *testing.T) {
	t.Parallel()
	want, err := reference.Pages(config.Definitions, "crd")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/reference/*.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimSuffix(filepath.Base(file), ".md")] = string(text)
	}
	delete(got, "cli") // `make verify` compares the page of the commands: a test of all commands would link the program.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/reference is out of date: make generate (-want +got):\n%s", diff)
	}
}
