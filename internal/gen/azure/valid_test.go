package azure_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

const site = "https://schema.management.azure.com/"

// loader reads schemas from directories.
type loader []fs.FS

// Load implements jsonschema.URLLoader.
func (l loader) Load(url string) (any, error) {
	name := path.Clean(strings.TrimPrefix(url, site))
	for _, directory := range l {
		text, err := fs.ReadFile(directory, name)
		if err != nil {
			continue
		}
		return jsonschema.UnmarshalJSON(bytes.NewReader(text))
	}
	return nil, fs.ErrNotExist
}

// validator compiles the schemas of kinds.
func validator(directories ...fs.FS) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.UseLoader(loader(directories))
	c.DefaultDraft(jsonschema.Draft4)
	c.UseRegexpEngine(compileRegexp)
	return c
}

// perl is a pattern that package regexp can't read. It matches everything.
type perl string

func (p perl) String() string          { return string(p) }
func (p perl) MatchString(string) bool { return true }

func compileRegexp(pattern string) (jsonschema.Regexp, error) {
	if r, err := regexp.Compile(pattern); err == nil {
		return r, nil
	}
	return perl(pattern), nil
}

// validate returns the error of the schema that a kind comes from for a body.
func validate(c *jsonschema.Compiler, k *catalogue.Kind, hidden map[string]any, parent string) (invalid error) {
	schema, err := c.Compile(site + k.Source.Path + "#/" + k.SchemaPath)
	if err != nil {
		return err
	}
	body, err := catalogue.Reveal(hidden, func(h catalogue.Hidden) (any, error) {
		if h.JSON {
			return map[string]any{}, nil
		}
		return "Ab1~Ab1~Ab1~Ab1~", nil
	})
	if err != nil {
		return err
	}
	full := map[string]any{"properties": map[string]any{}} // ARM doesn't need empty properties
	maps.Copy(full, body)
	name, _ := body["name"].(string)
	full["type"], full["apiVersion"] = k.Type, k.APIVersion
	for i, each := range []string{name, k.QualifiedName(parent, name)} { // a pattern is of one of both
		full["name"] = each
		text, err := json.Marshal(full)
		if err != nil {
			return err
		}
		read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		err = schema.Validate(read)
		if err == nil {
			return nil
		}
		if i == 0 || strings.Contains(invalid.Error(), "at '/name'") {
			invalid = err
		}
	}
	return invalid
}

// TestExamplesAreValid: the smallest body of each kind is valid by the schema that the kind comes from.
func TestExamplesAreValid(t *testing.T) {
	seed := os.DirFS(shareddata.Path(t, "arm-schemas"))
	all := shareddata.Archive(t, "arm-schemas-all/schemas.tar.xz")
	schemas := map[bool]*jsonschema.Compiler{true: validator(seed), false: validator(all)}
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	valid, met := 0, map[string]bool{}
	for _, k := range c.Kinds() {
		if !strings.HasPrefix(k.Source.Path, "schemas/") { // of extra
			continue
		}
		spec, err := azure.Example(k)
		if err != nil {
			t.Fatal(err)
		}
		owner, named, err := catalogue.Owner(spec)
		if err != nil {
			t.Fatal(err)
		}
		parent := "/subscriptions/s"
		if named {
			parent = owner.Azure.Name
		}
		body, err := k.ToARM(spec, catalogue.Conversion{Parent: parent})
		if err != nil {
			t.Fatal(err)
		}
		invalid := validate(schemas[k.Default], k, body, parent)
		if invalid == nil {
			valid++
			continue
		}
		met[k.Type] = true
		why, sign := whyInvalid(k.Type)
		switch text := strings.ReplaceAll(invalid.Error(), "\n", " "); {
		case sign == "":
			t.Errorf("%s in %s: the example is invalid: %s", k.Type, k.APIVersion, text)
		case !strings.Contains(text, sign):
			t.Errorf("%s in %s: the example is invalid for another reason than that %s: %s", k.Type, k.APIVersion, why, text)
		}
	}
	for _, one := range invalidExamples {
		t.Logf("%d types: %s", len(one.types), one.why)
		for _, known := range one.types {
			if !met[known] {
				t.Errorf("%s: the example is valid now: remove the type from invalidExamples", known)
			}
		}
	}
	t.Logf("%d valid, %d invalid", valid, len(met))
}

// drawn returns a value of a shape in Kubernetes that the schema accepts. Of a union it has what all
// options have.
func drawn(t *rapid.T, s *catalogue.Shape, depth int) any {
	switch s.Type {
	case catalogue.Object:
		m := map[string]any{}
		for _, p := range s.Properties {
			all := depth > 0 && (s.Discriminator == "" || s.Discriminator == p.ARM)
			if p.Required || all && rapid.IntRange(0, 2).Draw(t, p.Name) == 0 {
				m[p.Name] = drawn(t, p.Shape, depth-1)
			}
		}
		return m
	case catalogue.List:
		list := []any{}
		for range rapid.Int64Range(s.MinLength, s.MinLength+int64(max(0, min(depth, 1)))).Draw(t, "items") {
			list = append(list, drawn(t, s.Items, depth-1))
		}
		return list
	case catalogue.Map:
		return map[string]any{"key": drawn(t, s.Items, depth-1)}
	case catalogue.IDMap:
		return []any{map[string]any{"ref": map[string]any{"self": "identities/a"}, "value": drawn(t, s.Items, depth-1)}}
	case catalogue.ID, catalogue.IDObject:
		return rapid.SampledFrom([]map[string]any{
			{"self": "parts/a"},
			{"azure": map[string]any{"name": "My.Net/networks/net"}},
			{"kubernetes": map[string]any{"name": "net"}},
		}).Draw(t, "reference")
	case catalogue.Secret:
		return map[string]any{"name": "sql", "key": "password"}
	case catalogue.Boolean:
		return rapid.Bool().Draw(t, "boolean")
	default:
		return drawnScalar(t, s)
	}
}

func drawnScalar(t *rapid.T, s *catalogue.Shape) any {
	if len(s.Enum) > 0 {
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	}
	return azure.ExampleOf(s)
}

// TestBodiesAreValid: the body of any spec of the typed kinds is valid by the schema that the kind comes
// from. Only an absent property that ARM doesn't need either is put in: properties.
func TestBodiesAreValid(t *testing.T) {
	schemas := validator(os.DirFS(shareddata.Path(t, "arm-schemas")))
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const parent = "/subscriptions/s/resourceGroups/g"
	with := catalogue.Conversion{
		Parent: parent, Kinds: c,
		Resolve: func(r catalogue.KubernetesReference, _ []catalogue.Target) (string, error) {
			return parent + "/providers/My.Net/networks/" + r.Name, nil
		},
	}
	kinds := 0
	for _, k := range c.Kinds() {
		if !k.Default {
			continue
		}
		kinds++
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			spec, ok := drawn(t, definition.Body, 6).(map[string]any)
			if !ok {
				t.Fatal("the body is no object")
			}
			spec[catalogue.AzureNameField] = azure.ExampleOf(definition.Name)
			body, err := k.ToARM(spec, with)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(schemas, k, body, parent); err != nil {
				t.Fatalf("%s: %v\n%v", k.Type, err, body)
			}
		})
	}
	if kinds != 86 {
		t.Errorf("%d kinds", kinds)
	}
}
