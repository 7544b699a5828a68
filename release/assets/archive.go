package assets

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive: its name in the archive, and its path.
type file struct {
	name, path string
	mode       int64
}

// archive writes files as a .tar.gz archive. The archive depends only on the names, the contents
// and the order of the files, and on the time.
func archive(path string, modified time.Time, files []file) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	zip := gzip.NewWriter(out)
	w := tar.NewWriter(zip)
	defer func() {
		if failed := errors.Join(w.Close(), zip.Close(), out.Close()); err == nil && failed != nil {
			err = fmt.Errorf("write archive: %w", failed)
		}
	}()
	for _, f := range files {
		content, err := os.ReadFile(f.path)
		if err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
		err = w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(content)),
			ModTime: modified, Format: tar.FormatPAX,
		})
		if err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
		if _, err := w.Write(content); err != nil {
			return fmt.Errorf("write archive: %w", err)
		}
	}
	return nil
}

// sum returns the SHA-256 of a file in hexadecimal form.
func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("compute checksum: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("compute checksum: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checksumsFile has the checksums of all other files, in the form of `sha256sum`.
const checksumsFile = "checksums.txt"

// writeChecksums writes checksums.txt for the files of a directory.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the files of the release: %w", err)
	}
	var lines []string
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), checksumsFile) {
			continue
		}
		digest, err := sum(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, digest+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if err := os.WriteFile(filepath.Join(dir, checksumsFile), []byte(strings.Join(lines, "")), 0o644); err != nil {
		return fmt.Errorf("write checksums: %w", err)
	}
	return nil
}
