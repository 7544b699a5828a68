package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

const schema = `{
  "resourceDefinitions": {
    "nets": {"type": "object", "properties": {
      "name": {"type": "string"}, "type": {"enum": ["My.Test/nets"]}, "apiVersion": {"enum": ["2020-01-01"]},
      "properties": {"type": "object", "properties": {
        "frobId": {"type": "string"}, "net": {"$ref": "#/definitions/Ref"}
      }}
    }},
    "lost": {"type": "object", "properties": {
      "name": {"type": "string"}, "type": {"enum": ["My.Test/a/lost"]}, "apiVersion": {"enum": ["2020-01-01"]}
    }}
  },
  "definitions": {"Ref": {"type": "object", "properties": {"id": {"type": "string"}}}}
}`

// run runs armgen in a directory with the schema, and returns what it prints.
func run(t *testing.T, config string, arguments ...string) (output, directory string, err error) {
	t.Helper()
	directory = t.TempDir()
	for name, text := range map[string]string{
		"schemas/2020-01-01/My.Test.json": schema, "config.yaml": config,
		"types.json": `[["my.test/nets", "2020-01-01", "schemas/2020-01-01/My.Test.json", "resourceDefinitions", "nets"]]`,
	} {
		file := filepath.Join(directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range arguments {
		arguments[i] = strings.ReplaceAll(a, "DIR", directory)
	}
	cmd := New()
	var b bytes.Buffer
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	cmd.SetArgs(append(arguments, "--schemas", directory, "--config", filepath.Join(directory, "config.yaml")))
	err = cmd.Execute()
	return b.String(), directory, err
}

// TestCatalogue: the command writes a catalogue, and names what it refused.
func TestCatalogue(t *testing.T) {
	output, directory, err := run(t, "plain: [My.Test/*]", "catalogue", "-o", "DIR/out")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(output, "refused My.Test/a/lost in 2020-01-01: its owner My.Test/a has no schema") {
		t.Errorf("got %q", output)
	}
	data, err := os.ReadFile(filepath.Join(directory, "out"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Open(data)
	if err != nil || len(c.Kinds()) != 1 || c.Kinds()[0].Kind != "Net" {
		t.Errorf("got %v, %v", c, err)
	}
}

// TestQuestions: what the schemas leave open, and answers to other questions, stop the command.
func TestQuestions(t *testing.T) {
	_, directory, err := run(t, "", "catalogue", "-o", "DIR/out")
	if err == nil || !strings.Contains(err.Error(), "My.Test/nets.frobId # My.Test/nets, properties.frobId") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(directory, "out")); err == nil {
		t.Error("a catalogue was written")
	}
	_, _, err = run(t, "plain: [My.Test/*, otherId]", "stats")
	if err == nil || !strings.Contains(err.Error(), "1 entries of the config answer no question, remove them: plain/o") {
		t.Errorf("got %v", err)
	}
}

// TestExplain: the relationships of a type. With --types, other types of the file aren't taken.
func TestExplain(t *testing.T) {
	output, _, err := run(t, "ids: [My.Test/nets.frobId]", "explain", "my.test/NETS", "--types", "DIR/types.json")
	if err != nil {
		t.Fatal(err)
	}
	want := `My.Test/nets in 2020-01-01
  kind       Net, my.test.infra.azure.com/v20200101
  schema     schemas/2020-01-01/My.Test.json#/resourceDefinitions/nets
  scope      resourceGroup
  owner      Microsoft.Resources/resourceGroups, in the azure form only
  reference  spec.frobRef to any resource
  reference  spec.net to My.Test/nets
`
	if output != want {
		t.Errorf("got:\n%s", output)
	}
	output, _, err = run(t, "plain: [frobId]", "stats")
	if err != nil || !strings.Contains(output, "types                 2, of which 1 refused") ||
		!strings.Contains(output, "owners found          1") || !strings.Contains(output, "to known kinds      1") {
		t.Errorf("got %v:\n%s", err, output)
	}
}

// TestCRDs: the definitions of the types that a pattern matches, in files named after them.
func TestCRDs(t *testing.T) {
	_, directory, err := run(t, "", "crds", "DIR/crd", "microsoft.network/virtualNetworks*",
		"Microsoft.Batch/batchAccounts@2017-09-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"microsoft.network.infra.azure.com_virtualnetworks.yaml",
		"microsoft.network.infra.azure.com_virtualnetworkssubnets.yaml", "microsoft.batch.infra.azure.com_batchaccounts.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(directory, "crd", name))
		if err != nil || !strings.Contains(string(text), "kind: CustomResourceDefinition") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := run(t, "", "crds", "DIR/crd", "Microsoft.Nothing/*"); err == nil {
		t.Error("a pattern that matches nothing is no error")
	}
}
