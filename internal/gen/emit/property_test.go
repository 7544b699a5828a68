package emit_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/internal/gen/emit"
)

// known are the markers of random packages.
var known = []string{"+optional", "+kubebuilder:validation:MaxLength=3", "+rule=\"has(self.a)\""}

// texts draws doc comments: words of all sorts, and such as mean something to Go's tools at
// the start of a line.
var texts = rapid.Custom(func(t *rapid.T) string {
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"Network", "is", "a", "\n", "\n\n", "#", "# Title", "+optional", "+kubebuilder:object:root=true", "-", "*", "1.",
		"[Network]:", "https://example.com", "//", "*/", "go:build", "``", "''", "`", "\t", "{", "\\", "NOTE(a):", "\u2028",
		"\x00", "\ufeff", "\r\n", "line 7", strings.Repeat("long", 40),
	}))
	return strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), " ")
})

// packages draws packages of many declarations whose names differ.
var packages = rapid.Custom(func(t *rapid.T) emit.Package {
	p := emit.Package{Name: "v1", Generator: "a test", Module: "example.com/own", Imports: example().Imports}
	n := 0
	name := func() string { n++; return fmt.Sprintf("Name%d", n) }
	types := rapid.SampledFrom([]string{"string", "*metav1.Time", "[]sharedv1.Import", "map[string]int32"})
	markers := rapid.SliceOfN(rapid.SampledFrom(known), 0, 3)
	declaration := rapid.Custom(func(t *rapid.T) emit.Declaration {
		doc := texts.Draw(t, "doc")
		switch rapid.IntRange(0, 4).Draw(t, "sort") {
		case 0:
			s := emit.Struct{Name: name(), Doc: doc, Markers: markers.Draw(t, "markers")}
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				f := name()
				s.Fields = append(s.Fields, emit.Field{
					Name: f, Type: types.Draw(t, "type"), JSON: strings.ToLower(f) + ",omitempty",
					Doc: texts.Draw(t, "doc"), Markers: markers.Draw(t, "markers"),
				})
			}
			return s
		case 1:
			return emit.Named{Name: name(), Type: types.Draw(t, "type"), Doc: doc, Markers: markers.Draw(t, "markers")}
		case 2:
			values := []emit.Const{{Name: name(), Value: `"a"`, Doc: doc}, {Name: name(), Value: `"b"`}}
			return emit.Consts{Type: "string", Values: values}
		case 3:
			return emit.Var{Name: name(), Value: "strings.Cut", Doc: doc}
		default:
			body := "return strings.ToLower(n.A)"
			return emit.Func{Receiver: "n *Named", Name: name(), Signature: "() string", Doc: doc, Body: body}
		}
	})
	for i := range rapid.IntRange(0, 3).Draw(t, "files") {
		p.Files = append(p.Files, emit.File{
			Name: fmt.Sprintf("zz_generated.%d.go", i), Declarations: rapid.SliceOfN(declaration, 0, 6).Draw(t, "declarations"),
		})
	}
	return p
})

// TestEverythingParses: whatever is rendered parses, gofmt leaves it as it is, a second
// rendering has the same bytes, comments keep within the columns, and no text of a doc comment
// becomes a marker.
func TestEverythingParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := packages.Draw(t, "package")
		sources, err := p.Render()
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Render()
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range sources {
			if !bytes.Equal(s.Text, again[i].Text) {
				t.Fatalf("%s differs when rendered again", s.Name)
			}
			file, err := parser.ParseFile(token.NewFileSet(), s.Name, s.Text, parser.ParseComments)
			if err != nil {
				t.Fatalf("%v in\n%s", err, s.Text)
			}
			if !ast.IsGenerated(file) {
				t.Fatalf("%s is not marked as generated", s.Name)
			}
			formatted, err := format.Source(s.Text)
			if err != nil || !bytes.Equal(s.Text, formatted) {
				t.Fatalf("gofmt changes (%v)\n%s\nto\n%s", err, s.Text, formatted)
			}
			checkLines(t, s.Text)
		}
	})
}

// checkLines checks the lines of a file's comments.
func checkLines(t *rapid.T, text []byte) {
	for line := range strings.SplitSeq(string(text), "\n") {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "// ")
		if !is {
			continue
		}
		if strings.HasPrefix(comment, "+") && !strings.Contains(strings.Join(known, "\n"), comment) {
			t.Fatalf("%q is a marker", comment)
		}
		if strings.HasPrefix(comment, "#") {
			t.Fatalf("%q is a heading", comment)
		}
		words := strings.Fields(comment)
		plain := words[:0:0]
		for i, w := range words {
			if i == 0 || !strings.ContainsAny(w[:1], "#+-*[") {
				plain = append(plain, w)
			}
		}
		width := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
		if len(plain) == len(words) && len(words) > 1 && width > emit.Columns {
			t.Fatalf("%d columns: %q", width, line)
		}
	}
}
