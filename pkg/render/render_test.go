package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/render"
)

var picture = render.Graph{
	Nodes: []render.Node{
		{ID: "b", Label: "Cluster/b", Status: "Current", Root: true}, {ID: "a", Label: "Release/a"},
	},
	Edges: []render.Edge{
		{From: "a", To: "b", Label: "uses", Weak: true}, {From: "b", To: "a"}, {From: "a", To: "nobody"},
	},
}

func TestDOT(t *testing.T) {
	var out bytes.Buffer
	if err := render.DOT(&out, picture); err != nil {
		t.Fatal(err)
	}
	want := `digraph kinship {
  rankdir=LR;
  node [shape=box];
  n0 [label="Cluster/b\nCurrent", penwidth=2];
  n1 [label="Release/a"];
  n1 -> n0 [label="uses", style=dashed];
  n0 -> n1 [label=""];
}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestMermaid(t *testing.T) {
	var out bytes.Buffer
	if err := render.Mermaid(&out, picture); err != nil {
		t.Fatal(err)
	}
	want := `flowchart LR
  n0["Cluster/b<br/>Current"]
  style n0 stroke-width:3px
  n1["Release/a"]
  n1 -.->|"uses"| n0
  n0 --> n1
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := render.JSON(&out, map[string]string{"b": "<script>", "a": "1"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": \"1\",\n  \"b\": \"\\u003cscript\\u003e\"\n}\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
	if err := render.JSON(&out, func() {}); err == nil {
		t.Error("a function has no JSON")
	}
}

func TestLines(t *testing.T) {
	tree := &render.Tree{
		Cells: []render.Cell{render.Text("root"), {Text: "Current", Colour: render.Green}, render.Text("a note")},
		Below: []*render.Tree{
			{
				Cells: []render.Cell{render.Text("first"), {Text: "Failed", Colour: render.Red}},
				Below: []*render.Tree{{Cells: []render.Cell{render.Text("deep")}}},
			},
			{
				Cells: []render.Cell{render.Text("last\nline"), render.Text(""), render.Text("\x1b[31mnote")},
				Below: []*render.Tree{{Cells: []render.Cell{render.Text("deeper")}}},
			},
		},
	}
	cases := map[string]struct {
		reason string
		header []string
		colour bool
		want   []string
	}{
		"plain": {"columns are aligned, and nothing commands the terminal", []string{"A", "B", "C"}, false, []string{
			"A              B         C",
			"root           Current   a note",
			"├─ first       Failed",
			"│  └─ deep",
			"└─ last line             \ufffd[31mnote",
			"   └─ deeper",
		}},
		"colour": {"colours do not count as width", nil, true, []string{
			"root           \x1b[32mCurrent\x1b[0m   a note",
			"├─ first       \x1b[31mFailed\x1b[0m",
			"│  └─ deep",
			"└─ last line             \ufffd[31mnote",
			"   └─ deeper",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := render.Lines(&out, tc.header, []*render.Tree{tree}, tc.colour); err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	err := render.Table(&out, []string{"NAME", "NOTE"}, [][]string{{"a", "one"}, {"longer", ""}, {"b"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("NAME     NOTE\na        one\nlonger\nb\n", out.String()); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

var (
	dotLine = regexp.MustCompile(
		`^(digraph kinship \{|  rankdir=LR;|  node \[shape=box\];|\}|` +
			`  n0( -> n1)? \[label="([^"\\]|\\["\\n])*"\];|  n1 \[label="b"\];)$`)
	mermaidLine = regexp.MustCompile(
		`^(flowchart LR|  n0\["([A-Za-z0-9 ./:-]|#[0-9]+;|<br/>)*"\]|  n1\["b"\]|` +
			`  n0 -->(\|"([A-Za-z0-9 ./:-]|#[0-9]+;|<br/>)+"\|)? n1)$`)
)

// FuzzLabels: for any name, every line has one of the intended forms, so that no name can add a
// node, an edge or markup.
func FuzzLabels(f *testing.F) {
	for _, seed := range []string{
		"", "a", `a"]; evil [label="x`, `a\`, `\"`, "a\nb", "a\r\n}\n", `"];click n0 href "javascript:alert(1)"`, "<script>",
		"#quot;", "`**bold**`", "end", "%%{init: {}}%%", "\x1b[2J", "\u2028", "\u202e", "\xff", "a|b", "über",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, label string) {
		g := render.Graph{
			Nodes: []render.Node{{ID: "a", Label: label}, {ID: "b", Label: "b"}},
			Edges: []render.Edge{{From: "a", To: "b", Label: label}},
		}
		var dot, mermaid, text, document bytes.Buffer
		for name, err := range map[string]error{
			"dot": render.DOT(&dot, g), "mermaid": render.Mermaid(&mermaid, g), "json": render.JSON(&document, label),
			"text": render.Table(&text, []string{"A"}, [][]string{{label}}),
		} {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		eachLine(t, dotLine, dot.String(), 7)
		eachLine(t, mermaidLine, mermaid.String(), 4)
		if n := strings.Count(text.String(), "\n"); n != 2 {
			t.Errorf("%d lines of text: %q", n, text.String())
		}
		unsafe := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
		if strings.ContainsFunc(text.String(), unsafe) {
			t.Errorf("the text is not plain: %q", text.String())
		}
		if !json.Valid(document.Bytes()) {
			t.Errorf("no JSON: %q", document.String())
		}
	})
}

func eachLine(t *testing.T, form *regexp.Regexp, text string, n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != n {
		t.Errorf("%d lines, want %d:\n%s", len(lines), n, text)
	}
	for _, line := range lines {
		if !form.MatchString(line) {
			t.Errorf("line %q has none of the forms that are meant", line)
		}
	}
}

// TestOrder: the picture of a graph keeps the order of nodes and edges, whatever their names. An edge is left
// out if one of its ends is unknown.
func TestOrder(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "nobody", ""})
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "nodes")
		g := render.Graph{}
		for _, id := range ids {
			g.Nodes = append(g.Nodes, render.Node{ID: id, Label: "L" + id})
		}
		want := []string{}
		for range rapid.IntRange(0, 5).Draw(t, "edges") {
			e := render.Edge{From: name.Draw(t, "from"), To: name.Draw(t, "to"), Weak: rapid.Bool().Draw(t, "weak")}
			g.Edges = append(g.Edges, e)
			from, to := slices.Index(ids, e.From), slices.Index(ids, e.To)
			if from >= 0 && to >= 0 {
				want = append(want, fmt.Sprintf("n%d n%d %t", from, to, e.Weak))
			}
		}
		var dot, mermaid bytes.Buffer
		if err := errors.Join(render.DOT(&dot, g), render.Mermaid(&mermaid, g)); err != nil {
			t.Fatal(err)
		}
		for format, text := range map[string]string{"DOT": dot.String(), "Mermaid": mermaid.String()} {
			labels, edges := []string{}, []string{}
			for line := range strings.Lines(text) {
				fields := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ";"))
				switch {
				case len(fields) > 2 && strings.HasSuffix(fields[1], ">"):
					weak := strings.Contains(line, "dashed") || strings.Contains(line, "-.->")
					edges = append(edges, fmt.Sprintf("%s %s %t", fields[0], fields[2], weak))
				case strings.Contains(line, `"L`):
					_, label, _ := strings.Cut(line, `"L`)
					labels = append(labels, label[:1])
				}
			}
			if !slices.Equal(labels, ids) || !slices.Equal(edges, want) {
				t.Fatalf("%s has nodes %q and edges %q, want %q and %q:\n%s", format, labels, edges, ids, want, text)
			}
		}
	})
}

// TestLinesOfTrees: each branch is a line, in order, with a branch sign for each level. The tree is not
// changed, so that the same tree can be written twice.
func TestLinesOfTrees(t *testing.T) {
	var grow func(t *rapid.T, depth int, count *int) *render.Tree
	grow = func(t *rapid.T, depth int, count *int) *render.Tree {
		*count++
		tree := &render.Tree{Cells: []render.Cell{render.Text(fmt.Sprintf("%d:%d", *count, depth)), render.Text("note")}}
		if depth < 4 {
			for range rapid.IntRange(0, 2).Draw(t, "below") {
				tree.Below = append(tree.Below, grow(t, depth+1, count))
			}
		}
		return tree
	}
	rapid.Check(t, func(t *rapid.T) {
		count := 0
		trees := []*render.Tree{grow(t, 0, &count)}
		var first, second bytes.Buffer
		if err := errors.Join(render.Lines(&first, nil, trees, false), render.Lines(&second, nil, trees, false)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(first.String(), "\n"), "\n")
		if first.String() != second.String() || len(lines) != count {
			t.Fatalf("%d lines of %d branches, then:\n%s", len(lines), count, second.String())
		}
		column := -1
		for i, line := range lines {
			branch, text, _ := strings.Cut(line, fmt.Sprintf("%d:", i+1))
			if got := utf8.RuneCountInString(branch); fmt.Sprint(got/3) != text[:1] || got%3 != 0 {
				t.Fatalf("line %d begins with %q at depth %s", i+1, branch, text[:1])
			}
			before, _, _ := strings.Cut(line, "note")
			at := utf8.RuneCountInString(before)
			if column >= 0 && at != column {
				t.Fatalf("the notes are not below each other:\n%s", first.String())
			}
			column = at
		}
	})
}
