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

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
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
func validate(c *jsonschema.Compiler, k *catalogue.Kind, body map[string]any, parent string) error {
	schema, err := c.Compile(site + k.Source.Path + "#/" + k.SchemaPath)
	if err != nil {
		return err
	}
	full := map[string]any{"properties": map[string]any{}} // ARM doesn't need empty properties
	maps.Copy(full, body)
	name, _ := body["name"].(string)
	full["type"], full["apiVersion"] = k.Type, k.APIVersion
	full["name"] = k.QualifiedName(parent, name)
	text, err := json.Marshal(full)
	if err != nil {
		return err
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(read)
}

// TestExamplesAreValid: the smallest body of each kind is valid by the schema that the kind comes from.
func TestExamplesAreValid(t *testing.T) {
	seed := os.DirFS(sharedData(t, "arm-schemas"))
	all := unpacked(t, sharedData(t, "arm-schemas-all/schemas.tar.xz"))
	schemas := map[bool]*jsonschema.Compiler{true: validator(seed), false: validator(all)}
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	for _, k := range c.Kinds() {
		spec, err := azure.Example(k)
		if err != nil {
			t.Fatal(err)
		}
		owner, err := catalogue.Owner(spec)
		if err != nil {
			t.Fatal(err)
		}
		parent := "/subscriptions/s"
		if owner != nil {
			parent = owner.Azure.Name
		}
		body, err := k.ToARM(spec, catalogue.Conversion{Parent: parent})
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(schemas[k.Default], k, body, parent); err != nil {
			invalid++
			t.Logf("%s in %s: %.300s", k.Type, k.APIVersion, strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		valid++
	}
	t.Logf("%d valid, %d invalid", valid, invalid)
}
