package assets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/release/image"
)

const (
	program    = "kinship"
	pluginName = "kinship"
)

// Platforms are the platforms of the archives: linux as for the images, and darwin for the kubectl
// plugin.
var Platforms = []image.Platform{
	{OS: "linux", Arch: "amd64"},
	{OS: "linux", Arch: "arm64"},
	{OS: "darwin", Arch: "amd64"},
	{OS: "darwin", Arch: "arm64"},
}

// Options of the files of a release.
type Options struct {
	image.Options

	// Image is the repository of the images, such as ghcr.io/kinship-dev/kinship, and Digest the
	// digest of their index.
	Image  string
	Digest v1.Hash
}

// Make makes all files of a release from the images' programs and the sources.
func Make(ctx context.Context, o Options, known []image.Program) error {
	if err := os.MkdirAll(o.Directory, 0o755); err != nil {
		return fmt.Errorf("make the directory of the release: %w", err)
	}
	archives, err := archivesOf(ctx, o, known)
	if err != nil {
		return err
	}
	krew, err := krewManifest(o.Repository, o.Version, archives)
	if err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(o.Source, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	told, err := notes(string(changelog), o.Version)
	if err != nil {
		return err
	}
	installation, err := chartOf(ctx, o)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"kinship.krew.yaml": string(krew), "notes.md": told, "install.yaml": installation,
	} {
		if err := os.WriteFile(filepath.Join(o.Directory, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return writeChecksums(o.Directory)
}

// archivesOf packs the programs for all [Platforms]. For a platform without an image, such as
// darwin/arm64, archivesOf calls image.Compile.
func archivesOf(ctx context.Context, o Options, known []image.Program) ([]packed, error) {
	have := map[image.Platform]image.Program{}
	for _, p := range known {
		have[p.Platform] = p
	}
	all := make([]packed, 0, len(Platforms))
	for _, platform := range Platforms {
		p, ok := have[platform]
		if !ok {
			var err error
			if p, err = image.Compile(ctx, o.Options, platform); err != nil {
				return nil, err
			}
		}
		name := fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, o.Version, platform.OS, platform.Arch)
		a := packed{platform: platform, name: name}
		path := filepath.Join(o.Directory, a.name)
		files := []file{{program, p.Path, 0o755}}
		for _, licence := range image.Licences {
			files = append(files, file{licence, filepath.Join(o.Source, licence), 0o644})
		}
		err := archive(path, o.Time, files)
		if err != nil {
			return nil, err
		}
		if a.sha256, err = sum(path); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// namespaceManifest is the Namespace kinship-system. Helm creates the Namespace with
// --create-namespace, but install.yaml must contain the Namespace.
const namespaceManifest = `---
apiVersion: v1
kind: Namespace
metadata:
  labels:
    app.kubernetes.io/part-of: kinship
    pod-security.kubernetes.io/enforce: restricted
  name: ` + chart.Namespace + "\n"

// chartOf packs charts/kinship, and returns install.yaml: the rendered chart with values.yaml and
// the digest of the image.
func chartOf(ctx context.Context, o Options) (string, error) {
	c, err := chart.Load(filepath.Join(o.Source, "charts", "kinship"))
	if err != nil {
		return "", err
	}
	c.Stamp(o.Version)
	if _, err := c.Pack(o.Directory, o.Time); err != nil {
		return "", err
	}
	values := map[string]any{"image": map[string]any{"repository": o.Image}}
	if o.Digest != (v1.Hash{}) {
		values["image"].(map[string]any)["digest"] = o.Digest.String()
	}
	text, err := c.Text(ctx, values, chart.Cluster{})
	if err != nil {
		return "", err
	}
	return namespaceManifest + text, nil
}
