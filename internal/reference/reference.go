package reference

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"
)

type (
	definition = apiextensionsv1.CustomResourceDefinition
	version    = apiextensionsv1.CustomResourceDefinitionVersion
	schema     = apiextensionsv1.JSONSchemaProps
)

// Pages returns a Markdown page for each group of the CustomResourceDefinitions in a directory.
func Pages(files fs.FS, directory string) (map[string]string, error) {
	names, err := fs.Glob(files, directory+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	groups := map[string][]definition{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read a definition: %w", err)
		}
		var d definition
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", name, err)
		}
		groups[d.Spec.Group] = append(groups[d.Spec.Group], d)
	}
	pages := map[string]string{}
	for group, definitions := range groups {
		pages[group] = page(group, definitions)
	}
	return pages, nil
}

// page returns the Markdown page of a group.
func page(group string, definitions []definition) string {
	slices.SortFunc(definitions, func(a, b definition) int {
		return strings.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind)
	})
	var p printer
	p.line("<!-- Written by make generate from config/crd: do not edit. -->")
	p.line("# %s", group)
	p.line("")
	p.line("| kind | versions | scope |")
	p.line("|---|---|---|")
	for _, d := range definitions {
		p.line("| [%s](#%s) | %s | %s |", d.Spec.Names.Kind, strings.ToLower(d.Spec.Names.Kind),
			strings.Join(versionsOf(d.Spec.Versions), ", "), d.Spec.Scope)
	}
	p.line("")
	p.line("`[]` stands for each item of a list, `{}` for each value of a map. Fields of `metadata` and of")
	p.line("`status.conditions[]` are those of all kinds of Kubernetes.")
	for _, d := range definitions {
		p.kind(d)
	}
	return p.String()
}

func versionsOf(versions []version) []string {
	names := make([]string, 0, len(versions))
	for _, v := range versions {
		names = append(names, v.Name)
	}
	return names
}

// printer writes a page.
type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// kind writes the section of a kind: a table for all versions with the same schema.
func (p *printer) kind(d definition) {
	p.line("")
	p.line("## %s", d.Spec.Names.Kind)
	var same []version
	for i, v := range d.Spec.Versions {
		same = append(same, v)
		last := i == len(d.Spec.Versions)-1
		if !last && equality.Semantic.DeepEqual(v.Schema, d.Spec.Versions[i+1].Schema) {
			continue
		}
		p.version(d, same)
		same = nil
	}
}

// version writes the table of versions with the same OpenAPIV3Schema.
func (p *printer) version(d definition, same []version) {
	root := same[0].Schema.OpenAPIV3Schema
	p.line("")
	p.line("`%s`, version %s.", d.Name, strings.Join(versionsOf(same), " and "))
	p.line("")
	p.line("%s", strings.TrimSpace(strings.ReplaceAll(root.Description, "<", `\<`)))
	p.line("")
	p.line("| field | type | rules | |")
	p.line("|---|---|---|---|")
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			p.field(name, root.Properties[name], slices.Contains(root.Required, name))
		}
	}
}

// field writes the row of a field such as spec.of, and the rows of the fields below.
func (p *printer) field(path string, s schema, required bool) {
	p.line("| `%s` | %s | %s | %s |", path, typeOf(s), cell(strings.Join(rulesOf(s, required), "; ")), cell(s.Description))
	if path == "status.conditions" {
		return
	}
	if s.Items != nil && s.Items.Schema != nil {
		p.element(path+"[]", *s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		p.element(path+"{}", *s.AdditionalProperties.Schema)
	}
	p.below(path, s)
}

// element writes the rows of a list's items (spec.items[]), or of a map's values (spec.labels{}).
func (p *printer) element(path string, s schema) {
	if s.Type == "object" && s.AdditionalProperties == nil && len(s.XValidations) == 0 {
		p.below(path, s)
		return
	}
	p.field(path, s, false)
}

func (p *printer) below(path string, s schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.field(path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
}

// cell returns a text in the form of a table cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "\n\n", "<br>", "\n", " ").Replace(strings.TrimSpace(text))
}
