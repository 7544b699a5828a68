package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp, listKind: LampList}
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
            required: [color]
            properties:
              color: {type: string, enum: [red, green]}
              note: {type: string, maxLength: 20}
          status:
            type: object
            properties: {lit: {type: boolean}}
`

// TestCompatible changes a definition, and has oasdiff judge the change as hack/compatible.sh does.
func TestCompatible(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string // In the definition.
		refused  string
	}{
		"a field is added":                 {"note:", "more: {type: string}\n              note:", ""},
		"a value is added":                 {"[red, green]", "[red, green, blue]", ""},
		"a longer text is allowed":         {"maxLength: 20", "maxLength: 30", ""},
		"a field is removed":               {"note:", "memo:", "request-property-removed"},
		"a value is removed":               {"[red, green]", "[red]", "request-property-enum-value-removed"},
		"only a shorter text":              {"maxLength: 20", "maxLength: 10", "request-property-max-length-decreased"},
		"a field has another type":         {"note: {type: string, maxLength: 20}", "note: {type: integer}", "request-property-type-changed"},
		"a field becomes required":         {"[color]", "[color, note]", "request-property-became-required"},
		"a field of the status is removed": {"lit:", "on:", "request-property-removed"},
		"a version is no longer there":     {"name: v1", "name: v2", "api-path-removed-without-deprecation"},
		"a version is not served":          {"served: true", "served: false", "api-path-removed-without-deprecation"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := document(t, definition), document(t, strings.Replace(definition, test.old, test.new, 1))
			cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/oasdiff/go.mod", "oasdiff", "breaking",
				"--severity-levels", "tools/oasdiff/severity.txt", "--fail-on", "ERR", before, after)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); failed != (test.refused != "") {
				t.Errorf("oasdiff ended with %v:\n%s", err, out)
			}
			if !strings.Contains(string(out), test.refused) {
				t.Errorf("oasdiff does not say %s:\n%s", test.refused, out)
			}
		})
	}
}

// TestNoDefinitions refuses a directory without definitions, which would be compatible with anything.
func TestNoDefinitions(t *testing.T) {
	if err := write(os.Stdout, t.TempDir()); err == nil {
		t.Error("an empty directory has a document")
	}
}

// document writes the OpenAPI document of a definition, and returns its path.
func document(t *testing.T, definition string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "example.com_lamps.yaml"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(directory, "document.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(file, directory); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
