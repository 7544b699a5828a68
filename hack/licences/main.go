// Command licences writes the files that the licences of dependencies require: `make generate` runs
// the command.
//
//	docs/licences.md       each module in the program kinship, with its licences
//	THIRD_PARTY_LICENSES   the texts of these licences, and the modules' NOTICE files
//
// A module with an unknown licence, or with a licence that `allowed` lacks, is an error.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	page  = "docs/licences.md"
	texts = "THIRD_PARTY_LICENSES"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	modules, err := list(root)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{page: table(modules), texts: collect(modules)} {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), text, 0o644); err != nil {
			return fmt.Errorf("write the licences: %w", err)
		}
	}
	return nil
}

// table returns docs/licences.md without versions: go.mod and the SBOM files of a release have the
// versions.
func table(modules []*module) []byte {
	var b bytes.Buffer
	b.WriteString(`# Licences

Kinship has the licence Apache-2.0. The program ` + "`kinship`" + ` contains the modules below, on at least one of the
systems that releases are built for. ` + "`THIRD_PARTY_LICENSES`" + ` has the texts of their licences and their notices.

Made by ` + "`make generate`" + ` from the modules themselves. A module with another licence than ` +
		strings.Join(allowed, ", ") + ` is an error.
The bills of materials of a release (SPDX and CycloneDX) also have the versions.

| module | licence |
|---|---|
`)
	for _, m := range modules {
		fmt.Fprintf(&b, "| %s | %s |\n", m.path, strings.Join(m.licences, ", "))
	}
	b.WriteString("| the Go standard library | BSD-3-Clause |\n")
	return b.Bytes()
}

// collect returns the texts of all files, each text once, below the paths of its modules.
func collect(modules []*module) []byte {
	users, order := map[string][]string{}, []string{}
	for _, m := range modules {
		for _, text := range m.texts {
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], m.path)
		}
	}
	var b bytes.Buffer
	b.WriteString("The program kinship contains the modules named here. " +
		"Below each list of modules are their licence or notice.\n")
	for _, text := range order {
		slices.Sort(users[text])
		b.WriteString("\n" + strings.Repeat("=", 100) + "\n")
		b.WriteString(strings.Join(users[text], "\n") + "\n\n" + text + "\n")
	}
	return b.Bytes()
}
