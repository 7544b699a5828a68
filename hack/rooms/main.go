// Rooms prints how the packages of the operator are divided: for each package its files and lines, and how many
// references between its files go against the order in which a reader meets the files. The order is the one with the
// fewest such references: a file comes before the files that it uses.
//
//	go run ./hack/rooms ./internal/options ./internal/install
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(patterns []string, out io.Writer) error {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, patterns...)
	if err != nil {
		return fmt.Errorf("load packages: %w", err)
	}
	fmt.Fprintln(out, "| package | files | lines | references between files | against the order |\n|---|---|---|---|---|")
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("load %s: %w", p.ID, p.Errors[0])
		}
		uses := usesOf(p)
		lines, err := linesOf(p)
		if err != nil {
			return err
		}
		all, against := uses.count(order(uses))
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", filepath.Base(p.PkgPath), len(p.GoFiles), lines, all, against)
	}
	return nil
}

func linesOf(p *packages.Package) (lines int, err error) {
	for _, file := range p.GoFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", file, err)
		}
		lines += strings.Count(string(text), "\n")
	}
	return lines, nil
}

// uses says how many identifiers of a package a file uses that another file declares: by the using file, then by the
// declaring file.
type uses map[string]map[string]int

func usesOf(p *packages.Package) uses {
	all, declared := uses{}, map[types.Object]string{}
	for id, o := range p.TypesInfo.Defs {
		if o != nil {
			declared[o] = p.Fset.Position(id.Pos()).Filename
		}
	}
	for _, syntax := range p.Syntax {
		file, names := p.Fset.Position(syntax.Pos()).Filename, map[types.Object]bool{}
		all[file] = map[string]int{}
		ast.Inspect(syntax, func(n ast.Node) bool {
			id, isName := n.(*ast.Ident)
			if !isName {
				return true
			}
			o := p.TypesInfo.Uses[id]
			if in := declared[o]; in != "" && in != file && !names[o] {
				names[o] = true
				all[file][in]++
			}
			return true
		})
	}
	return all
}

// count counts the references between files, and those from a file to a file that comes earlier in an order.
func (u uses) count(order []string) (all, against int) {
	at := map[string]int{}
	for i, file := range order {
		at[file] = i
	}
	for from, to := range u {
		for file, n := range to {
			all += n
			if at[file] < at[from] {
				against += n
			}
		}
	}
	return all, against
}

// order returns the files so that few references go against the order. order moves one file at a time to the place with
// the fewest such references, until no move helps.
func order(u uses) []string {
	files := slices.Sorted(maps.Keys(u))
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(u.used(a), u.used(b)) })
	_, best := u.count(files)
	for again := true; again; {
		again = false
		for _, file := range slices.Clone(files) {
			for to := range files {
				moved := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == file })
				moved = slices.Insert(moved, to, file)
				if _, against := u.count(moved); against < best {
					files, best, again = moved, against, true
				}
			}
		}
	}
	return files
}

// used counts the references to a file.
func (u uses) used(file string) (n int) {
	for _, to := range u {
		n += to[file]
	}
	return n
}
