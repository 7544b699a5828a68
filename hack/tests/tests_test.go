package tests_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

var (
	aRow  = regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`)
	aTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|test)[A-Z]\\w*)`")
)

// TestTwentyFive compares the table of docs/security.md with the tests that there are.
func TestTwentyFive(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## The 25 tests\n")
	if !found {
		t.Fatal("docs/security.md has no section for the 25 tests")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := aRow.FindAllStringSubmatch(section, -1)
	if len(rows) != 25 {
		t.Errorf("the table has %d rows", len(rows))
	}
	for i, row := range rows {
		if n, err := strconv.Atoi(row[1]); err != nil || n != i+1 {
			t.Errorf("row %d is called %s", i+1, row[1])
		}
		if !aTest.MatchString(row[2]) && !strings.Contains(row[2], "missing") {
			t.Errorf("row %s names no test", row[1])
		}
	}
	tests := map[string]map[string]bool{}
	for _, named := range aTest.FindAllStringSubmatch(section, -1) {
		dir, name := named[1], named[2]
		if tests[dir] == nil {
			tests[dir] = testsIn(t, dir)
		}
		if !tests[dir][name] {
			t.Errorf("%s has no test %s", dir, name)
		}
	}
}

// testsIn returns the functions of a folder's tests.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
