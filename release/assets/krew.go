package assets

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/release/image"
)

// krewPlugin is the manifest of a plugin for krew.
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
	Files    []krewFile   `json:"files"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type krewFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// packed is an archive of the program, made by archivesOf.
type packed struct {
	platform image.Platform
	name     string
	sha256   string
}

// krewManifest returns the krewPlugin in YAML.
func krewManifest(repository, version string, archives []packed) ([]byte, error) {
	p := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": pluginName},
		Spec: krewSpec{
			Version: "v" + strings.TrimPrefix(version, "v"), Homepage: repository,
			ShortDescription: "Show what uses, owns and blocks an object",
			Description: "Shows which objects own, use or wait for an object, why it is not ready or not deleted,\n" +
				"and which object must not be deleted while another one still needs it.\n",
		},
	}
	files := append(make([]krewFile, 0, 1+len(image.Licences)), krewFile{program, "."})
	for _, licence := range image.Licences {
		files = append(files, krewFile{licence, "."})
	}
	for _, a := range archives {
		p.Spec.Platforms = append(p.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": a.platform.OS, "arch": a.platform.Arch}},
			URI:      fmt.Sprintf("%s/releases/download/%s/%s", repository, version, a.name),
			SHA256:   a.sha256, Bin: program,
			Files: files,
		})
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the manifest for krew: %w", err)
	}
	return text, nil
}
