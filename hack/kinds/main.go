// Command kinds writes the generated API types of api/openstack/v1alpha1: `make generate` runs the
// command before controller-gen.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kinship-dev/kinship/internal/gen/openstack"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run writes the generated files into the directory of the API package.
func run(directory string) error {
	sources, err := openstack.Package().Render()
	if err != nil {
		return fmt.Errorf("generate the kinds of %s: %w", directory, err)
	}
	for _, s := range sources {
		if err := os.WriteFile(filepath.Join(directory, s.Name), s.Text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", s.Name, err)
		}
	}
	return nil
}
