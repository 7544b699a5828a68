package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/release/image"
)

// made makes the files of a release, with programs that are small files, and returns their contents.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	o := Options{
		Options: image.Options{
			Source: "../..", Version: "v1.2.3", Time: time.Unix(1_700_000_000, 0).UTC(),
			Repository: "https://example.com/kinship", Directory: filepath.Join(dir, "dist"),
		},
		Image: "registry.example/kinship", Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)},
	}
	programs := make([]image.Program, 0, len(Platforms))
	for _, p := range Platforms {
		path := filepath.Join(dir, p.OS+p.Arch)
		if err := os.WriteFile(path, []byte("program for "+p.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, image.Program{Platform: p, Path: path})
	}
	if err := Make(t.Context(), o, programs); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(o.Directory)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(o.Directory, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestMake: a release has all its files, made twice they are the same, and each has its checksum.
func TestMake(t *testing.T) {
	first, second := made(t), made(t)
	for _, name := range []string{
		"kinship_v1.2.3_linux_amd64.tar.gz", "kinship_v1.2.3_linux_arm64.tar.gz", "kinship_v1.2.3_darwin_amd64.tar.gz",
		"kinship_v1.2.3_darwin_arm64.tar.gz", "kinship-1.2.3.tgz", "install.yaml", "kinship.krew.yaml", "notes.md",
		checksumsFile,
	} {
		if len(first[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs from one time to the next", name)
		}
		line := regexp.MustCompile(`(?m)^[0-9a-f]{64}  ` + regexp.QuoteMeta(name) + "$")
		if has := line.Match(first[checksumsFile]); has == (name == checksumsFile) {
			t.Errorf("%s among the checksums: %t", name, has)
		}
	}
}

// TestInstallation: the manifest installs the image by its digest, of this version, in the namespace.
func TestInstallation(t *testing.T) {
	text := string(made(t)["install.yaml"])
	for _, want := range []string{
		"image: registry.example/kinship@sha256:" + strings.Repeat("1", 64), "app.kubernetes.io/version: \"v1.2.3\"",
		"kind: Namespace\n", "pod-security.kubernetes.io/enforce: restricted",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("install.yaml does not have %q", want)
		}
	}
	if strings.Contains(text, "MutatingAdmissionPolicy\n") {
		t.Error("install.yaml has a kind that older clusters do not serve")
	}
}

// TestKrew: the manifest names each archive with its checksum.
func TestKrew(t *testing.T) {
	files := made(t)
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(files["kinship.krew.yaml"], &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != len(Platforms) {
		t.Errorf("version %s with %d platforms", plugin.Spec.Version, len(plugin.Spec.Platforms))
	}
	for _, p := range plugin.Spec.Platforms {
		name := p.URI[strings.LastIndex(p.URI, "/")+1:]
		if !strings.Contains(string(files[checksumsFile]), p.SHA256+"  "+name+"\n") {
			t.Errorf("the checksum of %s is %s", name, p.SHA256)
		}
		var installed []string
		for _, f := range p.Files {
			installed = append(installed, f.From)
		}
		if diff := cmp.Diff(packedIn(t, files[name]), installed); diff != "" {
			t.Errorf("%s (-packed +installed):\n%s", name, diff)
		}
	}
}

// packedIn returns the names of the files of an archive, which has the licences of what it is made of.
func packedIn(t *testing.T, text []byte) []string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	for _, licence := range image.Licences {
		if !slices.Contains(names, licence) {
			t.Errorf("an archive has no %s, only %v", licence, names)
		}
	}
	return names
}

// TestNotes: the notes are the section of the version, or else the section Unreleased.
func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n" +
		"## v1.2.0 - 2026-11-01\n\n- old\n\n### Fixed\n\n- bug\n\n## v1.1.0\n"
	for version, want := range map[string]string{
		"v1.2.0": "# v1.2.0\n\n- old\n\n### Fixed\n\n- bug\n", "v1.3.0": "# v1.3.0\n\n- new\n",
	} {
		got, err := notes(changelog, version)
		if err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
	if _, err := notes("# Changelog\n", "v1.0.0"); err == nil {
		t.Error("a changelog without sections gives notes")
	}
}
