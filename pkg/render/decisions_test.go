package render_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/render"
)

func TestPlain(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"text":      {"printable text is kept", "Secret/db is Current", "Secret/db is Current"},
		"lines":     {"a message of two lines stays on one line", "one\ntwo\tthree", "one two three"},
		"escape":    {"an escape sequence can't command the terminal", "\x1b[2J", "\ufffd[2J"},
		"bell":      {"a control character is replaced", "a\ab", "a\ufffdb"},
		"direction": {"text direction can't be turned around", "a\u202eb", "a\ufffdb"},
		"letters":   {"letters of every script are printable", "größe 日本", "größe 日本"},
		"empty":     {"nothing stays nothing", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := render.Plain(tc.text); got != tc.want {
				t.Errorf("%s: Plain(%q) = %q, want %q", tc.reason, tc.text, got, tc.want)
			}
		})
	}
}

// failing is a writer such as a closed pipe.
type failing struct{}

var errClosed = errors.New("closed pipe")

func (failing) Write([]byte) (int, error) { return 0, errClosed }

func TestWriteErrors(t *testing.T) {
	writers := map[string]func() error{
		"DOT":     func() error { return render.DOT(failing{}, picture) },
		"Mermaid": func() error { return render.Mermaid(failing{}, picture) },
		"JSON":    func() error { return render.JSON(failing{}, picture) },
		"Lines":   func() error { return render.Lines(failing{}, []string{"A"}, nil, false) },
		"Table":   func() error { return render.Table(failing{}, []string{"A"}, [][]string{{"b"}}) },
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			if err := write(); !errors.Is(err, errClosed) {
				t.Errorf("the error is %v, want %v", err, errClosed)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	cases := map[string]struct {
		write func(*bytes.Buffer) error
		want  string
	}{
		"DOT": {
			func(b *bytes.Buffer) error { return render.DOT(b, render.Graph{}) },
			"digraph kinship {\n  rankdir=LR;\n  node [shape=box];\n}\n",
		},
		"Mermaid": {func(b *bytes.Buffer) error { return render.Mermaid(b, render.Graph{}) }, "flowchart LR\n"},
		"Lines":   {func(b *bytes.Buffer) error { return render.Lines(b, nil, nil, true) }, ""},
		"Table":   {func(b *bytes.Buffer) error { return render.Table(b, []string{"NAME"}, nil) }, "NAME\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tc.write(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
		})
	}
}

// TestUnalignedRows shows that rows may have fewer cells than the header, or more.
func TestUnalignedRows(t *testing.T) {
	cases := map[string]struct {
		rows [][]string
		want string
	}{
		"fewer":     {[][]string{{"a"}, {"b", "c"}}, "NAME   NOTE\na\nb      c\n"},
		"more":      {[][]string{{"a", "b", "c"}}, "NAME   NOTE\na      b   c\n"},
		"no cells":  {[][]string{{}}, "NAME   NOTE\n\n"},
		"wide rune": {[][]string{{"größer", "x"}}, "NAME     NOTE\ngrößer   x\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := render.Table(&out, []string{"NAME", "NOTE"}, tc.rows); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
		})
	}
}

// TestQuotes shows that a name can't end its string, neither in DOT nor in Mermaid.
func TestQuotes(t *testing.T) {
	g := render.Graph{Nodes: []render.Node{{ID: "a", Label: `"];x[\` + "<b>", Status: "# 1"}}}
	var dot, mermaid bytes.Buffer
	if err := errors.Join(render.DOT(&dot, g), render.Mermaid(&mermaid, g)); err != nil {
		t.Fatal(err)
	}
	if want := `n0 [label="\"];x[\\<b>\n# 1"];`; !strings.Contains(dot.String(), want) {
		t.Errorf("DOT has no %s:\n%s", want, dot.String())
	}
	if want := `n0["#34;#93;#59;x#91;#92;#60;b#62;<br/>#35; 1"]`; !strings.Contains(mermaid.String(), want) {
		t.Errorf("Mermaid has no %s:\n%s", want, mermaid.String())
	}
}
