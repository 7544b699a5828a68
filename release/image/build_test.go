package image_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/kinship-dev/kinship/release/image"
)

// hello are the options to build a small program from a copy of its sources.
func hello(t *testing.T) image.Options {
	t.Helper()
	o := image.Options{
		Source: t.TempDir(), Directory: t.TempDir(), Package: ".", Version: "v1.2.3", Revision: strings.Repeat("a", 40),
		Time: time.Unix(1_700_000_000, 0).UTC(), Repository: "https://example.com/hello", Platforms: image.Platforms,
	}
	o.Source = filepath.Join(o.Source, "hello")
	o.Package = "example.com/hello"
	if err := os.CopyFS(o.Source, os.DirFS("testdata/hello")); err != nil {
		t.Fatal(err)
	}
	return o
}

func build(t *testing.T, o image.Options) image.Result {
	t.Helper()
	result, err := image.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestReproducible: two builds have the same digest, bills of materials and provenance, although the
// directories of the sources, the times of the files and the compiler's caches differ.
func TestReproducible(t *testing.T) {
	first, second := hello(t), hello(t)
	second.Environment = []string{"GOCACHE=" + t.TempDir()}
	if err := os.Chtimes(filepath.Join(second.Source, "main.go"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	one, two := build(t, first), build(t, second)
	if one.Digest != two.Digest {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
	for _, text := range beside(t, first, one) {
		if strings.Contains(text, first.Source) || strings.Contains(text, first.Directory) {
			t.Errorf("a path of this machine is told:\n%s", text)
		}
	}
	if diff := cmp.Diff(beside(t, first, one), beside(t, second, two)); diff != "" {
		t.Errorf("what is beside the images differs:\n%s", diff)
	}
	second.Version = "v1.2.4"
	if build(t, second).Digest == one.Digest {
		t.Error("another version has the same digest")
	}
}

// beside returns the bills of materials and the provenance of a build, by the names of the files.
func beside(t *testing.T, o image.Options, result image.Result) map[string]string {
	t.Helper()
	files, err := image.Bills(o, result)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	statement, err := image.Provenance(o, result)
	if err != nil {
		t.Fatal(err)
	}
	all["provenance"] = string(statement)
	return all
}

// TestLayout: the layout is a valid OCI layout with an image for each platform. An image contains the
// program and the certificates only.
func TestLayout(t *testing.T) {
	o := hello(t)
	result := build(t, o)
	root, err := layout.ImageIndexFromPath(result.Layout)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(root); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	index, err := root.ImageIndex(result.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	platforms := make([]string, 0, len(manifest.Manifests))
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, o, img, d.Platform)
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("platforms %v, want %v", platforms, want)
	}
}

func checkImage(t *testing.T, o image.Options, img v1.Image, platform *v1.Platform) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != platform.OS || config.Architecture != platform.Architecture || !config.Created.Equal(o.Time) {
		t.Errorf("%s: configured for %s/%s at %s", platform, config.OS, config.Architecture, config.Created)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/hello"}) {
		t.Errorf("%s: user %q runs %v", platform, config.Config.User, config.Config.Entrypoint)
	}
	files := map[string]int64{}
	extracted := mutate.Extract(img)
	defer extracted.Close()
	for r := tar.NewReader(extracted); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			files[h.Name] = h.Mode
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(o.Time) {
			t.Errorf("%s: %s of %d:%d at %s", platform, h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
	want := map[string]int64{
		"hello": 0o755, "etc/ssl/certs/ca-certificates.crt": 0o644,
		"licenses/LICENSE": 0o644, "licenses/NOTICE": 0o644, "licenses/THIRD_PARTY_LICENSES": 0o644,
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("%s: files (-want +got):\n%s", platform, diff)
	}
}

// TestProgram: the program for this machine's platform runs, and prints the version.
func TestProgram(t *testing.T) {
	o := hello(t)
	o.Platforms = []image.Platform{{OS: runtime.GOOS, Arch: runtime.GOARCH}}
	result := build(t, o)
	out, err := exec.CommandContext(t.Context(), result.Programs[0].Path).Output()
	if err != nil || string(out) != "hello v1.2.3\n" {
		t.Errorf("the program printed %q, %v", out, err)
	}
}

// TestProvenance: the statement names the image and the programs by their digests, and the commit.
func TestProvenance(t *testing.T) {
	o := hello(t)
	result := build(t, o)
	text, err := image.Provenance(o, result)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					Digest map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	if told.Type != "https://in-toto.io/Statement/v1" {
		t.Errorf("type %q", told.Type)
	}
	want := []string{result.Digest.Hex, result.Programs[0].SHA256, result.Programs[1].SHA256}
	got := make([]string, 0, len(told.Subject))
	for _, s := range told.Subject {
		got = append(got, s.Digest["sha256"])
	}
	if !slices.Equal(got, want) {
		t.Errorf("subjects %v, want %v", got, want)
	}
	if d := told.Predicate.BuildDefinition.ResolvedDependencies; len(d) != 1 || d[0].Digest["gitCommit"] != o.Revision {
		t.Errorf("dependencies %v", d)
	}
}

// TestCompileFails: the error names the platform, and contains the compiler's text.
func TestCompileFails(t *testing.T) {
	o := hello(t)
	program := []byte("package main\n\nfunc main() { missing() }\n")
	if err := os.WriteFile(filepath.Join(o.Source, "main.go"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := image.Build(t.Context(), o)
	for _, text := range []string{"linux/amd64", "undefined: missing"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v does not say %q", err, text)
		}
	}
}
