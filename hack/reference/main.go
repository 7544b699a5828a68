// Command reference writes docs/reference: `make generate` runs the command.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/reference"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run writes a page of reference.Pages for each API group into a directory.
func run(directory string) error {
	pages, err := reference.Pages(config.Definitions, "crd")
	if err != nil {
		return err
	}
	for group, text := range pages {
		if err := os.WriteFile(filepath.Join(directory, group+".md"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the page of %s: %w", group, err)
		}
	}
	return nil
}
