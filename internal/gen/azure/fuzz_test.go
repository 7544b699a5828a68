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
		config, err := azure.ParseConfig(nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := azure.Load([]fs.FS{fstest.MapFS{"schemas/a.json": {Data: text}}})
		if err != nil {
			t.Fatal(err)
		}
		_, c, err := azure.Generate(l, config)
		if err != nil {
			return
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
		l, err := azure.Load([]fs.FS{directory})
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := azure.Generate(l, config)
		t.Logf("%d resources, %d refused, %.200v", len(m.Resources), len(m.Refusals), err)
	}
}
