// Testtimes prints which test packages take long, and what each of them proves: a table for CONTRIBUTING.md. The input
// is the output of go test.
//
//	make test-race test-tables 2>&1 | go run ./hack/testtimes
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "github.com/kinship-dev/kinship/"
	// least is the time in seconds from which on a package is listed.
	least = 20
)

// passed is the closing line of a package in the output of go test.
var passed = regexp.MustCompile(`^ok\s+` + module + `(\S+)\s+([0-9.]+)s`)

// timed is a test package with its time in seconds.
type timed struct {
	path    string
	seconds float64
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var all []timed
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		parts := passed.FindStringSubmatch(lines.Text())
		if parts == nil {
			continue
		}
		seconds, err := strconv.ParseFloat(parts[2], 64)
		if err != nil {
			return fmt.Errorf("read the time of %s: %w", parts[1], err)
		}
		if seconds >= least {
			all = append(all, timed{parts[1], seconds})
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the output of go test: %w", err)
	}
	slices.SortFunc(all, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.path, b.path))
	})
	fmt.Fprintln(out, "| package | seconds | what it proves |\n|---|---|---|")
	for _, t := range all {
		text, err := docOf(t.path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| `%s` | %.0f | %s |\n", t.path, t.seconds, text)
	}
	return nil
}

// docOf returns the first sentence of the comment of a package, without its name.
func docOf(dir string) (string, error) {
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		return "", fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+name, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return "", fmt.Errorf("read the comment of %s: %w", dir, err)
		}
		if text := sentence(file.Doc); text != "" {
			return text, nil
		}
	}
	return "", fmt.Errorf("package %s has no comment that says what it proves", dir)
}

func sentence(doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	text, _, _ = strings.Cut(text, ". ")
	words := strings.SplitN(strings.TrimSuffix(text, "."), " ", 3) // "Package NAME tests ..."
	if len(words) < 3 {
		return ""
	}
	return words[2]
}
