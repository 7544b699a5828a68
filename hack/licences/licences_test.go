package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestListed: docs/licences.md and THIRD_PARTY_LICENSES have every module in the program.
func TestListed(t *testing.T) {
	modules, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 50 {
		t.Fatalf("%d modules", len(modules))
	}
	for name, want := range map[string][]byte{page: table(modules), texts: collect(modules)} {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date: run make generate (-want +got):\n%s", name, diff)
		}
	}
}

// TestNotice: NOTICE says where the licences of dependencies are, and has the origin and the copyright of the ARM
// schemas, from which the catalogue is made.
func TestNotice(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		texts, "https://github.com/Azure/azure-resource-manager-schemas", "Copyright (c) 2015 Microsoft",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("NOTICE does not have %q", want)
		}
	}
}

func TestRead(t *testing.T) {
	const (
		mit     = "Copyright (c) A\n\nPermission is hereby granted, free of\r\ncharge, to any person obtaining\n"
		bsd     = "Redistribution and use in source and binary forms, with or without modification"
		endorse = bsd + " ... Neither the name of A nor"
	)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // nil: an error
	}{
		{"a licence", map[string]string{"LICENSE": mit}, []string{"MIT"}},
		{"British, with a suffix", map[string]string{"licence.md": endorse}, []string{"BSD-3-Clause"}},
		{"two files", map[string]string{"LICENSE": bsd, "LICENSE.other": mit}, []string{"BSD-2-Clause", "MIT"}},
		{
			"a notice is no licence",
			map[string]string{"LICENSE": mit, "NOTICE": "Apache License Version 2.0"},
			[]string{"MIT"},
		},
		{"only a notice", map[string]string{"NOTICE": mit}, nil},
		{"code", map[string]string{"license.go": mit}, nil},
		{"unknown", map[string]string{"LICENSE": "Do what you like."}, nil},
		{"not allowed", map[string]string{"LICENSE": "GNU General\nPublic License"}, nil},
		{"one of two not allowed", map[string]string{"LICENSE": mit, "COPYING": "Mozilla Public License 2.0"}, nil},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := read("example.com/m", dir)
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), "example.com/m") {
				t.Errorf("%s: %v, want an error that names the module", c.name, err)
			}
			continue
		}
		if err != nil || !slices.Equal(m.licences, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, m, err, c.want)
		}
	}
}
