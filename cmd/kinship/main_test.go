package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestUnusedMethodsAreLeftOut: the program, with the build tag of the Makefile, imports no package because of
// which the linker keeps all methods of all types. Such a program needs 20 MB more memory.
func TestUnusedMethodsAreLeftOut(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags=grpcnotrace", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, name := range []string{"plugin", "html/template"} {
		if slices.Contains(packages, name) {
			t.Errorf("the program imports %s: go list -deps -f '{{.ImportPath}} {{.Imports}}' tells which package does", name)
		}
	}
}
