// Command reference writes docs/reference: `make generate` runs the command.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/gen/azure/command"
	"github.com/kinship-dev/kinship/internal/reference"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run writes a page of reference.Pages for each API group, and the page of reference.Commands, into a directory.
func run(directory string) error {
	pages, err := reference.Pages(config.Definitions, "crd")
	if err != nil {
		return err
	}
	pages["cli"] = reference.Commands(cli.ConnectionFlags(), cli.Command(), command.New())
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(directory, name+".md"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write page %s: %w", name, err)
		}
	}
	return nil
}
