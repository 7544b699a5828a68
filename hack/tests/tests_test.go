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
	aRow  = regexp.MustCompile(`(?m)^\| (F?\d+) \| (.*) \|$`)
	aTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|test)[A-Z]\\w*)`")
)

// TestTwentyFive compares the table of the 25 tests in docs/security.md with the tests that exist.
func TestTwentyFive(t *testing.T) { compareTable(t, "security.md", "The 25 tests", "", 25) }

// TestAttacked compares the table of attacks in docs/security.md with the tests that exist.
func TestAttacked(t *testing.T) { compareTable(t, "security.md", "What was attacked", "", 33) }

// TestTexts compares the table of other languages in decision 0033 with the tests that exist.
func TestTexts(t *testing.T) {
	compareTable(t, "decisions/0033-texts-in-other-languages.md", "Decision", "", 13)
}

// TestFound compares the table of found differences in docs/compatibility/openstack.md with the
// tests that exist.
func TestFound(t *testing.T) {
	compareTable(t, "compatibility/openstack.md", "What the scenarios showed", "F", 13)
}

// compareTable expects a section of a page to have so many numbered rows, and each row to name
// tests that run.
func compareTable(t *testing.T, page, title, prefix string, rows int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/%s has no section %q", page, title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	numbered := aRow.FindAllStringSubmatch(section, -1)
	if len(numbered) != rows {
		t.Errorf("the table has %d rows, want %d", len(numbered), rows)
	}
	for i, row := range numbered {
		if want := prefix + strconv.Itoa(i+1); row[1] != want {
			t.Errorf("row %s is called %s", want, row[1])
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

// testsIn returns the functions that go test runs in a folder: those named Test or Fuzz, and those
// that these name, such as the rows of a table of tests.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{} // By declaration, the identifiers in it.
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			for _, name := range declares(declared) {
				names[name] = append(names[name], identifiers(declared)...)
			}
		}
	}
	run := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if _, declared := names[name]; !declared || run[name] {
			return
		}
		run[name] = true
		for _, named := range names[name] {
			visit(named)
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
			visit(name)
		}
	}
	return run
}

// declares returns the names of the functions and variables that a declaration declares.
func declares(declared ast.Decl) (names []string) {
	switch d := declared.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range values.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// identifiers returns all identifiers in a node.
func identifiers(in ast.Node) (names []string) {
	ast.Inspect(in, func(node ast.Node) bool {
		if identifier, ok := node.(*ast.Ident); ok {
			names = append(names, identifier.Name)
		}
		return true
	})
	return names
}
