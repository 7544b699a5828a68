package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// own is the path of this module.
const own = "github.com/kinship-dev/kinship"

// systems are the values of GOOS of a release.
var systems = []string{"linux", "darwin", "windows"}

// allowed are the SPDX names of the licences that permit a distribution under Apache-2.0.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// module is a dependency of the program, with the texts of its licence.
type module struct {
	path     string
	licences []string
	texts    []string
}

// list returns the modules in the program kinship, sorted by path.
func list(root string) ([]*module, error) {
	folders := map[string]string{}
	for _, system := range systems {
		command := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./cmd/kinship")
		command.Dir = root
		command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var problem bytes.Buffer
		command.Stderr = &problem
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("list the dependencies on %s: %w: %s", system, err, problem.String())
		}
		for line := range strings.Lines(string(out)) {
			path, folder, found := strings.Cut(strings.TrimSpace(line), " ")
			if found && path != own {
				folders[path] = folder
			}
		}
	}
	modules := make([]*module, 0, len(folders))
	for _, path := range slices.Sorted(maps.Keys(folders)) {
		m, err := read(path, folders[path])
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// file matches the name of a file with a licence or a notice, such as LICENSE.txt.
var file = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// read reads the files of a module. A NOTICE file names no licence, but must be distributed too.
func read(path, folder string) (*module, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", path, err)
	}
	m := &module{path: path}
	for _, entry := range entries {
		if entry.IsDir() || !file.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read module %s: %w", path, err)
		}
		m.texts = append(m.texts, tidy(string(text)))
		if !strings.HasPrefix(strings.ToLower(entry.Name()), "notice") {
			m.licences = append(m.licences, licencesIn(string(text))...)
		}
	}
	slices.Sort(m.licences)
	m.licences = slices.Compact(m.licences)
	if len(m.licences) == 0 {
		return nil, fmt.Errorf("module %s has no licence that is known", path)
	}
	for _, licence := range m.licences {
		if !slices.Contains(allowed, licence) {
			return nil, fmt.Errorf("module %s has the licence %s, which is none of %s",
				path, licence, strings.Join(allowed, ", "))
		}
	}
	return m, nil
}

// tidy removes spaces at the ends of lines, and the line ends of Windows, so that equal texts
// compare as equal.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// marks are sentences by which licencesIn recognises a licence.
var marks = []struct{ licence, sentence string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"Apache-2.0", "licensed under the apache license, version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"MPL-2.0", "mozilla public license"},
	{"GPL", "gnu general public license"},
	{"LGPL", "gnu lesser general public license"},
}

// licencesIn returns the licences that a text is or grants.
func licencesIn(text string) (found []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, mark := range marks {
		if strings.Contains(text, mark.sentence) {
			found = append(found, mark.licence)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms") {
		if strings.Contains(text, "neither the name") || strings.Contains(text, "may not be used to endorse") {
			return append(found, "BSD-3-Clause")
		}
		return append(found, "BSD-2-Clause")
	}
	return found
}
