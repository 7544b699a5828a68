package azure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayName are the files of the pack that may name the type of resource groups: a resource group is the owner of
// resources of catalogue.ResourceGroupScope, and the only place of a deployment.
var mayName = []string{"address.go", "deployment.go"}

// TestNoSpecialCase: the engine and the pack have no text and no name about resource groups. A resource group is an
// owner as any other: the catalogue says what is in one.
func TestNoSpecialCase(t *testing.T) {
	files := 0
	for _, root := range []string{".", "../../../pkg"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if text := textOf(n, path); strings.Contains(text, "ResourceGroup") || strings.Contains(text, "resourceGroups") {
					t.Errorf("%s has %s", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Errorf("%d files were read", files)
	}
}

// textOf returns a literal of a file, or a name in a file that is not one of mayName, or "".
func textOf(n ast.Node, path string) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		return n.Value
	case *ast.Ident:
		if !slices.Contains(mayName, path) {
			return n.Name
		}
	}
	return ""
}
