package shareddata

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ulikunitz/xz"
)

// Text returns the content of a .xz file of the data. Where the file is absent, the test is skipped, as with [Path].
func Text(tb testing.TB, name string) []byte {
	tb.Helper()
	packed, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Archive returns the files of a .tar.xz of the data, below its first folder. Where the archive is absent, the test
// is skipped, as with [Path].
func Archive(tb testing.TB, name string) fs.FS {
	tb.Helper()
	files := fstest.MapFS{}
	archive := tar.NewReader(bytes.NewReader(Text(tb, name)))
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
