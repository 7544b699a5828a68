package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Platform is an operating system (GOOS) with an architecture (GOARCH).
type Platform struct{ OS, Arch string }

// String returns OS/ARCH, such as linux/arm64.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Platforms are the platforms of the images of a release.
var Platforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}}

// refName is the annotation with the tag of a manifest in an OCI layout.
const refName = "org.opencontainers.image.ref.name"

// Options of a build.
type Options struct {
	// Source is the directory of the module, and Package its program, such as ./cmd/kinship.
	Source, Package string
	// Version of the release, which `kinship --version` prints.
	Version string
	// Revision is the git commit. Time is the time of the commit.
	Revision string
	Time     time.Time
	// Repository is the URL of the sources.
	Repository string
	// Directory is the directory in which [Build] writes the OCI layout and the programs, and
	// [Bills] the bills of materials.
	Directory string
	Platforms []Platform
	// Environment is added to os.Environ() for the compiler, such as GOCACHE=DIR.
	Environment []string
}

// Program is a compiled program.
type Program struct {
	Platform Platform
	Path     string
	SHA256   string
}

// Result names the images and the programs of a [Build].
type Result struct {
	// Digest of the image index.
	Digest   v1.Hash
	Programs []Program
	// Layout is the directory of the OCI layout.
	Layout string
}

// Build compiles the program for all Options.Platforms and writes the OCI layout.
func Build(ctx context.Context, o Options) (Result, error) {
	result := Result{Layout: filepath.Join(o.Directory, "layout")}
	if err := os.RemoveAll(result.Layout); err != nil {
		return result, fmt.Errorf("remove the layout of before: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range o.Platforms {
		program, err := Compile(ctx, o, p)
		if err != nil {
			return result, err
		}
		result.Programs = append(result.Programs, program)
		img, err := assemble(o, program)
		if err != nil {
			return result, fmt.Errorf("make the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch},
		}})
	}
	path, err := layout.Write(result.Layout, empty.Index)
	if err != nil {
		return result, fmt.Errorf("write the layout: %w", err)
	}
	tag := layout.WithAnnotations(map[string]string{refName: o.Version})
	if err := path.AppendIndex(index, tag); err != nil {
		return result, fmt.Errorf("write the images: %w", err)
	}
	if result.Digest, err = index.Digest(); err != nil {
		return result, fmt.Errorf("compute the digest: %w", err)
	}
	return result, nil
}

// Compile compiles the program for a [Platform]. With CGO_ENABLED=0 the program needs no C library,
// and with -trimpath it contains no path of this machine. The tag is that of the Makefile's BUILD.
func Compile(ctx context.Context, o Options, p Platform) (Program, error) {
	program := Program{Platform: p, Path: filepath.Join(o.Directory, "bin", p.OS+"_"+p.Arch, filepath.Base(o.Package))}
	path, err := filepath.Abs(program.Path)
	if err != nil {
		return program, fmt.Errorf("find the directory of programs: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace",
		"-ldflags", "-s -w -buildid= -X main.version="+o.Version, "-o", path, o.Package)
	cmd.Dir = o.Source
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch), o.Environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return program, fmt.Errorf("compile for %s: %w\n%s", p, err, bytes.TrimSpace(out))
	}
	f, err := os.Open(path)
	if err != nil {
		return program, fmt.Errorf("read the program: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return program, fmt.Errorf("read the program: %w", err)
	}
	program.SHA256 = hex.EncodeToString(h.Sum(nil))
	return program, nil
}

// user is the UID and the GID of the process in a container. Neither owns a file of the image.
const user = "65532:65532"

// assemble returns the v1.Image of a [Program].
func assemble(o Options, program Program) (v1.Image, error) {
	name := filepath.Base(program.Path)
	files, err := layerOf(o, program.Path, name)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: o.Time}, CreatedBy: "make image",
	}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = program.Platform.OS, program.Platform.Arch, v1.Time{Time: o.Time}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + name}, User: user, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title": name, "org.opencontainers.image.version": o.Version,
			"org.opencontainers.image.revision": o.Revision, "org.opencontainers.image.source": o.Repository,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// certificates is the first file in which Go looks for the certificates of authorities.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// Licences are the files in the directory of the module that go along with each copy of its program.
var Licences = []string{"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES"}

// packed is a file of an image.
type packed struct {
	name    string
	mode    int64
	content []byte
}

// layerOf returns the files of an image as a tar archive. The licences are in the directory licenses.
func layerOf(o Options, program, name string) ([]byte, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // PEM can't express a constraint, such as trust in older certificates only.
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	files := []packed{{certificates, 0o644, roots.Bytes()}, {name, 0o755, content}}
	for _, licence := range Licences {
		text, err := os.ReadFile(filepath.Join(o.Source, licence))
		if err != nil {
			return nil, err
		}
		files = append(files, packed{"licenses/" + licence, 0o644, text})
	}
	return archive(o.Time, []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "licenses/"}, files)
}

// archive returns directories and files as a tar archive.
func archive(created time.Time, dirs []string, files []packed) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range dirs {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: created, Format: tar.FormatPAX,
		})
		if err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			ModTime: created, Format: tar.FormatPAX,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close() // Close writes the end of the archive, so Close precedes Bytes.
	return b.Bytes(), err
}
