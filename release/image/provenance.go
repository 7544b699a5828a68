package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/release/sbom"
)

// statement is an in-toto statement with a SLSA provenance.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []source          `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		Metadata struct {
			StartedOn string `json:"startedOn"`
		} `json:"metadata"`
	} `json:"runDetails"`
}

// source is an input of a build, such as the git commit of a repository.
type source struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// Provenance returns a statement in JSON with the digests of the images and programs of a [Build],
// the commit of their sources (Options.Revision), and the version of Go.
func Provenance(o Options, result Result) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	s.Subject = []subject{{o.Repository, map[string]string{result.Digest.Algorithm: result.Digest.Hex}}}
	platforms := make([]string, 0, len(result.Programs))
	for _, p := range result.Programs {
		platforms = append(platforms, p.Platform.String())
		name := filepath.Base(p.Path) + "_" + strings.ReplaceAll(p.Platform.String(), "/", "_")
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": p.SHA256}})
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = o.Repository + "/blob/main/docs/decisions/0026-chart.md"
	d.ExternalParameters = map[string]string{"version": o.Version, "platforms": strings.Join(platforms, ",")}
	d.InternalParameters = map[string]string{"go": runtime.Version()}
	d.ResolvedDependencies = []source{{"git+" + o.Repository, map[string]string{"gitCommit": o.Revision}}}
	s.Predicate.RunDetails.Builder.ID = o.Repository + "/blob/main/Makefile"
	s.Predicate.RunDetails.Metadata.StartedOn = o.Time.UTC().Format(time.RFC3339)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write provenance: %w", err)
	}
	return append(text, '\n'), nil
}

// Bills writes the bills of materials of all programs as .spdx.json and .cdx.json, and returns the
// names of the files.
func Bills(o Options, result Result) ([]string, error) {
	var files []string
	for _, p := range result.Programs {
		bill, err := sbom.Read(p.Path)
		if err != nil {
			return nil, err
		}
		bill.Version, bill.SHA256, bill.Time = o.Version, p.SHA256, o.Time
		name := fmt.Sprintf("%s_%s_%s", filepath.Base(p.Path), p.Platform.OS, p.Platform.Arch)
		for _, form := range []struct {
			suffix string
			write  func() ([]byte, error)
		}{{".spdx.json", bill.SPDX}, {".cdx.json", bill.CycloneDX}} {
			text, err := form.write()
			if err != nil {
				return nil, err
			}
			file := filepath.Join(o.Directory, name+form.suffix)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return nil, fmt.Errorf("write bill of materials: %w", err)
			}
			files = append(files, file)
		}
	}
	return files, nil
}
