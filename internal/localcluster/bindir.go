package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoBinaries is wrapped by the error of a [Start] that finds no programs to
// run.
var ErrNoBinaries = errors.New("the programs of the control plane are not built: run `make build`")

// assetsVar is the variable by which envtest and setup-envtest name the
// directory of binaries too.
const assetsVar = "KUBEBUILDER_ASSETS"

// findBinDir returns the directory of the programs. A named directory that lacks the programs
// is an error: another directory may have other versions of the programs.
func findBinDir(named string) (string, error) {
	if named == "" {
		named = os.Getenv(assetsVar)
	}
	places := []string{named}
	if named == "" {
		var err error
		if places, err = usualPlaces(); err != nil {
			return "", err
		}
	}
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(place, APIServer)); err == nil {
			return filepath.Abs(place)
		}
	}
	return "", fmt.Errorf("%w (no %s in %s; $%s names another place)",
		ErrNoBinaries, APIServer, strings.Join(places, ", "), assetsVar)
}

func usualPlaces() ([]string, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	places := []string{filepath.Join(filepath.Dir(executable), "k8s")}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	for {
		places = append(places, filepath.Join(dir, "bin", "k8s"))
		parent := filepath.Dir(dir)
		if parent == dir {
			return places, nil
		}
		dir = parent
	}
}
