package azure_test

import (
	"io/fs"
	"testing"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
)

// generated returns the catalogue of directories, with the built-in config.
func generated(t *testing.T, directories []fs.FS, types ...[]byte) *catalogue.Catalogue {
	t.Helper()
	config, err := azure.DefaultConfig(false)
	if err != nil {
		t.Fatal(err)
	}
	l := azure.Load(directories)
	for _, text := range types {
		if err := l.AddTypes(text); err != nil {
			t.Fatal(err)
		}
	}
	_, c, err := azure.Generate(l, config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
