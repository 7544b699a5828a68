package shareddata

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
)

// Archive returns the files of a .tar.xz of the data, below its first folder. Where the archive is absent, the test
// is skipped, as with [Path].
func Archive(tb testing.TB, name string) fs.FS {
	tb.Helper()
	f, err := os.Open(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := xz.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	files := fstest.MapFS{}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			tb.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
}
