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
	aTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Benchmark|test)[A-Z]\\w*)`")
)

// TestTwentyFive compares the table of the 25 tests in docs/security.md with the tests that exist.
func TestTwentyFive(t *testing.T) { compareTable(t, "The 25 tests", 25) }

// TestAttacked compares the table of attacks in docs/security.md with the tests that exist.
func TestAttacked(t *testing.T) { compareTable(t, "What was attacked", 21) }

// compareTable expects a section of docs/security.md to have so many numbered rows, and each row
// to name tests that exist.
func compareTable(t *testing.T, title string, rows int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/security.md has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	numbered := aRow.FindAllStringSubmatch(section, -1)
	if len(numbered) != rows {
		t.Errorf("the table has %d rows, want %d", len(numbered), rows)
	}
	for i, row := range numbered {
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
