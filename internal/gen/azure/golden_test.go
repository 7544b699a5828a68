package azure_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
)

// TestGolden: each file in testdata has schemas, a config, and the catalogue or the error that these give.
// KINSHIP_UPDATE=1 writes what they give.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			directory := fstest.MapFS{
				"schemas/common/definitions.json": {Data: []byte(`{"definitions": {"expression": {"type": "string"}}}`)},
			}
			var in inputs
			want := ""
			for _, f := range archive.Files {
				switch f.Name {
				case "config.yaml":
					in.config = f.Data
				case "facts.jsonl":
					in.facts = f.Data
				case "extra.yaml":
					in.extra = f.Data
				case "want":
					want = string(f.Data)
				default: // a schema, in YAML because it is shorter
					text, err := yaml.YAMLToJSON(f.Data)
					if err != nil {
						t.Fatalf("%s: %v", f.Name, err)
					}
					directory[f.Name] = &fstest.MapFile{Data: text}
				}
			}
			got := result(t, directory, in)
			if os.Getenv("KINSHIP_UPDATE") != "" {
				last := len(archive.Files) - 1
				archive.Files[last].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// inputs are the files of a test besides schemas.
type inputs struct{ config, facts, extra []byte }

// load returns the Library of the inputs and of the schemas in a directory, and the Config.
func (in inputs) load(directory fs.FS) (*azure.Library, *azure.Config, error) {
	config, err := azure.ParseConfig(in.config)
	if err != nil {
		return nil, nil, err
	}
	l := azure.Load([]fs.FS{directory})
	if err := l.AddFacts(in.facts); err != nil {
		return nil, nil, err
	}
	if in.extra != nil {
		err = l.AddExtra("extra.yaml", in.extra)
	}
	return l, config, err
}

// result returns the catalogue of a directory as text, or the error.
func result(t *testing.T, directory fs.FS, in inputs) string {
	t.Helper()
	l, config, err := in.load(directory)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	m, c, err := azure.Generate(l, config)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = catalogue.Open(data); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, k := range c.Kinds() {
		d, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s: %s, %s, scope %s, owner %q", k.Type, k.APIVersion, k.Kind, k.Plural, k.Scopes, k.Owner)
		if k.Default {
			b.WriteString(", default")
		}
		fmt.Fprintf(&b, "\n  name %s\n", shapeText(d.Name))
		for _, p := range d.Preserved {
			fmt.Fprintf(&b, "  children %s: %s\n", p.Path, p.Type)
		}
		writeFacts(&b, d)
		writeShape(&b, d.Body, "  ")
	}
	for _, r := range m.Resources {
		for _, p := range r.Lacking {
			fmt.Fprintf(&b, "lacking %s %s: %s\n", r.Type, r.APIVersion, p)
		}
	}
	for _, r := range c.Refusals() {
		fmt.Fprintf(&b, "refused %s %s: %s\n", r.Type, r.APIVersion, r.Reason)
	}
	return b.String()
}

// writeFacts writes the secrets, the read-only places and the actions of a kind.
func writeFacts(b *strings.Builder, d *catalogue.Definition) {
	for _, p := range d.ReadOnly {
		fmt.Fprintf(b, "  read-only %s\n", p)
	}
	for _, p := range d.Sensitive {
		fmt.Fprintf(b, "  sensitive %s\n", p)
	}
	for _, a := range d.Actions {
		fmt.Fprintf(b, "  action %s %v\n", a.Name, a.Sensitive)
	}
}

// writeShape writes the properties of an object, one a line.
func writeShape(b *strings.Builder, s *catalogue.Shape, indent string) {
	for _, p := range s.Properties {
		name := p.Name
		if p.ARM != p.Name {
			name += "=" + p.ARM
		}
		if p.Nested {
			name = "." + name
		}
		if p.Required {
			name += "!"
		}
		if p.Suggested {
			name += "?"
		}
		fmt.Fprintf(b, "%s%s %s\n", indent, name, shapeText(p.Shape))
		inner := p.Shape
		for inner.Items != nil {
			inner = inner.Items
		}
		writeShape(b, inner, indent+"  ")
	}
}

// shapeText returns a shape without its properties.
func shapeText(s *catalogue.Shape) string {
	names := []string{
		"any", "object", "list of", "map of", "string", "integer", "number", "boolean", "integer or string", "id", "{id}",
		"ids to", "secret",
	}
	text := names[s.Type]
	if s.Open {
		text = "open " + text
	}
	if s.Items != nil {
		text += " " + shapeText(s.Items)
	}
	for _, part := range []struct {
		is   bool
		text string
	}{
		{s.Discriminator != "", " by " + s.Discriminator},
		{len(s.Enum) > 0, " " + strings.Join(s.Enum, "|")},
		{s.Pattern != "", " /" + s.Pattern + "/"},
		{s.Format != "", " " + s.Format},
		{s.MinLength > 0 || s.MaxLength > 0, fmt.Sprintf(" length %d..%d", s.MinLength, s.MaxLength)},
		{s.Minimum != nil, " from " + bound(s.Minimum)},
		{s.Maximum != nil, " to " + bound(s.Maximum)},
	} {
		if part.is {
			text += part.text
		}
	}
	for _, t := range s.Targets {
		text += " " + strings.TrimSuffix(t.Type+"#"+t.Part, "#")
	}
	return text
}

func bound(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
