package azure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoSpecialCase: the engine and the pack have no text about resource groups. A resource group is an
// owner as any other: the catalogue says what is in one.
func TestNoSpecialCase(t *testing.T) {
	files := 0
	for _, root := range []string{".", "../../../pkg/engine", "../../../pkg/external", "../../../pkg/relation"} {
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
				literal, ok := n.(*ast.BasicLit)
				if ok && (strings.Contains(literal.Value, "ResourceGroup") || strings.Contains(literal.Value, "resourceGroups")) {
					t.Errorf("%s has %s", path, literal.Value)
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
