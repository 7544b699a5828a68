package story

import (
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
)

// Install returns the stories about installations.
func Install() ([]Story, error) {
	return []Story{{
		Title: "A first installation is deletion protection alone. An upgrade keeps the packs of an installation.",
		Steps: []Step{
			{"list what a first installation without --packs applies: the definitions of Usages alone", firstDefinitions},
			{"ask this cluster what an upgrade without --packs runs: all packs, which are installed here", keptPacks},
		},
	}}, nil
}

// firstDefinitions lists the CustomResourceDefinitions of a first installation.
func firstDefinitions(context.Context, *Stage) (string, error) {
	objects, err := install.Objects(options.Options{Packs: options.FirstPacks()}, true)
	if err != nil {
		return "", err
	}
	var names []string
	for _, obj := range objects {
		if _, isDefinition := obj.(*apiextensionsv1.CustomResourceDefinition); isDefinition {
			names = append(names, obj.GetName())
		}
	}
	seen := strings.Join(names, ", ")
	foreign := func(name string) bool {
		return !strings.Contains(name, "usages.") && name != "referencegrants.kinship.dev"
	}
	if len(names) == 0 || slices.ContainsFunc(names, foreign) {
		return "", &Mismatch{Expected: "definitions of Usages and of ReferenceGrants", Seen: seen}
	}
	return seen, nil
}

// keptPacks asks the cluster of the stage for the packs of the last installation.
func keptPacks(ctx context.Context, s *Stage) (string, error) {
	packs, err := install.LastPacks(ctx, s.client)
	if err != nil {
		return "", err
	}
	seen := strings.Join(packs, ", ")
	if !slices.Equal(packs, options.PackNames()) {
		return "", &Mismatch{Expected: strings.Join(options.PackNames(), ", "), Seen: seen}
	}
	return seen, nil
}
