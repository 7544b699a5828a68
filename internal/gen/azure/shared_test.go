package azure_test

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ulikunitz/xz"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
)

// unpacked returns the files of a .tar.xz, below its first folder.
func unpacked(t *testing.T, path string) fs.FS {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	r, err := xz.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
}

// generated returns the catalogue of directories, with the built-in config.
func generated(t *testing.T, directories []fs.FS, types ...[]byte) *catalogue.Catalogue {
	t.Helper()
	config, err := azure.DefaultConfig(false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := azure.Load(directories, types...)
	if err != nil {
		t.Fatal(err)
	}
	_, c, err := azure.Generate(l, config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
