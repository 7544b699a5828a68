package azure_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

// writeAndRead returns the error of Generate. A catalogue that Generate returns must be written and read without error.
func writeAndRead(t *testing.T, l *azure.Library) error {
	t.Helper()
	config, err := azure.ParseConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, c, err := azure.Generate(l, config)
	if err != nil {
		return err
	}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = catalogue.Open(data); err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	return nil
}

// FuzzSchema: a schema file gives an error, or a catalogue that can be written and read.
func FuzzSchema(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if path.Ext(part.Name) != ".json" {
				continue
			}
			text, err := yaml.YAMLToJSON(part.Data)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = writeAndRead(t, azure.Load([]fs.FS{fstest.MapFS{"schemas/a.json": {Data: text}}})) // Any error will do.
	})
}

// FuzzFacts: a file of facts gives an error, or a catalogue that can be written and read.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"type": "My.Test/a", "scopes": 31, "readOnly": ["properties.b[*].c"], "sensitive": ["properties.d"]}`))
	f.Add([]byte(`{"type": "My.Test/a", "functions": [{"name": "listKeys", "secret": ["keys.*.value"]}]}`))
	schema := []byte(`{"resourceDefinitions": {"a": {"type": "object", "properties": {
		"name": {"type": "string"}, "type": {"enum": ["My.Test/a"]}, "apiVersion": {"enum": ["2020-01-01"]},
		"properties": {"type": "object", "properties": {"d": {"type": "string"}}}}}}}`)
	f.Fuzz(func(t *testing.T, text []byte) {
		l := azure.Load([]fs.FS{fstest.MapFS{"schemas/a.json": {Data: schema}}})
		if l.AddFacts(text) != nil {
			return
		}
		if err := writeAndRead(t, l); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzExtra: a file of extras gives an error, or a catalogue that can be written and read.
func FuzzExtra(f *testing.F) {
	f.Add([]byte("type: My.Test/a\napiVersion: '2020-01-01'\nscopes: 16\nsensitive: [properties.a.*]\nschema: " +
		"{properties: {properties: {properties: {a: {type: object, additionalProperties: {type: string}}}}}}"))
	f.Add([]byte("type: My.Test/a\napiVersion: a\nscopes: 8\nschema: {properties: {a: {$ref: '#/a'}}}\n---\ntype: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := azure.Load(nil)
		if l.AddExtra("extra.yaml", text) == nil {
			_ = writeAndRead(t, l) // Any error will do.
		}
	})
}

// TestEverySchema: each schema file that there is gives its types, with an error at most for properties
// that the config doesn't answer.
func TestEverySchema(t *testing.T) {
	directories := []fs.FS{
		os.DirFS(shareddata.Path(t, "arm-schemas")), shareddata.Archive(t, "arm-schemas-all/recorded.tar.xz"),
		shareddata.Archive(t, "arm-schemas-all/schemas.tar.xz"),
	}
	for _, directory := range directories {
		config, err := azure.DefaultConfig(false)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := azure.Generate(azure.Load([]fs.FS{directory}), config)
		t.Logf("%d resources, %d refused, %.200v", len(m.Resources), len(m.Refusals), err)
	}
}
