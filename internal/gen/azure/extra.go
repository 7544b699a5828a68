package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Extra is a type that no deployment schema has, with its facts.
type Extra struct {
	Facts
	// Schema is the JSON schema of the body, without name, type and apiVersion. A $ref is not followed.
	Schema node `json:"schema"`
}

// AddExtra adds the types of a YAML file, in which --- separates documents. name is the name of the file.
func (l *Library) AddExtra(name string, text []byte) error {
	resources := map[string]any{}
	for i, document := range strings.Split("\n"+string(text), "\n---\n") {
		var e Extra
		err := yaml.UnmarshalStrict([]byte(document), &e)
		if err == nil {
			err = e.check()
		}
		if err == nil {
			err = l.addFacts(e.Facts)
		}
		if err != nil {
			return fmt.Errorf("reading %s, document %d: %w", name, i+1, err)
		}
		resources[e.Type] = e.resource()
	}
	// Facts.addTo replaces the unknown scope.
	file, err := json.Marshal(map[string]any{scopeKeyOfExtras: resources})
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	f, err := parseFile(name, file)
	if err != nil {
		return err
	}
	f.root = &Root{read: map[string]*File{name: f}}
	l.extras = append(l.extras, f)
	return nil
}

// scopeKeyOfExtras is the key under which the File of an Extra has its resources.
const scopeKeyOfExtras = "unknown_resourceDefinitions"

func (e Extra) check() error {
	switch {
	case e.APIVersion == "":
		return errors.New("apiVersion is missing")
	case e.scopes() == 0:
		return errors.New("scopes is missing: the sum of 1 tenant, 2 management group, 4 subscription, 8 resource group, " +
			"16 any resource")
	case e.Schema.node("properties") == nil:
		return errors.New("schema has no properties")
	}
	for _, own := range []string{"name", "type", "apiVersion"} {
		if e.Schema.node("properties")[own] != nil {
			return fmt.Errorf("schema has the property %s, which each type has", own)
		}
	}
	return nil
}

// resource returns the resource of a deployment schema.
func (e Extra) resource() map[string]any {
	properties := map[string]any{
		"name": map[string]any{"type": "string"}, "type": map[string]any{"enum": []any{e.Type}},
		"apiVersion": map[string]any{"enum": []any{e.APIVersion}},
	}
	maps.Copy(properties, e.Schema.node("properties"))
	out := map[string]any{"type": "object", "properties": properties}
	if required := e.Schema.list("required"); len(required) > 0 {
		out["required"] = slices.Concat(required, []any{"name", "type", "apiVersion"})
	}
	return out
}

// addExtras appends the resources of extras.
func (l *Library) addExtras(files []*File, selections []Selection) ([]*File, []Selection) {
	for _, f := range l.extras {
		for _, s := range f.resources() {
			files, selections = append(files, f), append(selections, s)
		}
	}
	return files, selections
}

// checkExtras fails if a schema has the type of an Extra.
func (l *Library) checkExtras(resources []Resource) error {
	for _, f := range l.extras {
		for _, s := range f.resources() {
			for _, r := range resources {
				if strings.EqualFold(r.Type, s.Definition) && r.Source != f.Source {
					return fmt.Errorf("%s is in %s and in the schema %s: remove it from the former", r.Type, f.Path, r.Source.Path)
				}
			}
		}
	}
	return nil
}
