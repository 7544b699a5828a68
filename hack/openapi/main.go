// Command openapi prints the schemas of CustomResourceDefinitions as an OpenAPI document, with a
// path and a POST for each version of a kind. In hack/compatible.sh, oasdiff compares two such
// documents.
//
//	openapi DIRECTORY >document.json
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapi DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// write writes the OpenAPI document of the CustomResourceDefinitions in a directory.
func write(out io.Writer, directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "*_*.yaml"))
	if err != nil {
		return fmt.Errorf("find definitions in %s: %w", directory, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no definitions", directory)
	}
	paths := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read definition: %w", err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return fmt.Errorf("read definition %s: %w", file, err)
		}
		addPaths(paths, definition.Spec)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "definitions", "version": "0"}, "paths": paths,
	})
}

// addPaths adds a path for each served version. The POST has the whole schema, because users write
// the spec, and older operators write the status.
func addPaths(paths map[string]any, spec apiextensionsv1.CustomResourceDefinitionSpec) {
	for _, version := range spec.Versions {
		if !version.Served {
			continue
		}
		name := fmt.Sprintf("/%s/%s/%s", spec.Group, version.Name, spec.Names.Plural)
		content := map[string]any{"application/json": map[string]any{"schema": version.Schema.OpenAPIV3Schema}}
		paths[name] = map[string]any{"post": map[string]any{
			"operationId": name,
			"requestBody": map[string]any{"required": true, "content": content},
			"responses":   map[string]any{"200": map[string]any{"description": "stored"}},
		}}
	}
}
