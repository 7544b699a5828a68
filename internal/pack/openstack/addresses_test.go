package openstack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddressesAreEscaped: the address of a request has only words of the code, or is made by kit.Address, which
// escapes names of users and ids of clouds.
func TestAddressesAreEscaped(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		isCode := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && filepath.Dir(path) != "kit"
		if err != nil || !isCode {
			return err
		}
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); !ok || selector.Sel.Name != "ServiceURL" {
				return true
			}
			for _, part := range call.Args {
				if _, isWord := part.(*ast.BasicLit); !isWord {
					t.Errorf("%s: ServiceURL has a part that is no word of the code: use kit.Address", path)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 30 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
