package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Node is an object in a [Graph].
type Node struct {
	// ID is unique in the [Graph].
	ID string
	// Label is the text of the node.
	Label string
	// Status is shown below Label.
	Status string
	// Root marks the object of the question with a thick line.
	Root bool
}

// Edge leads from the node with ID From to the node with ID To.
type Edge struct {
	From, To string
	Label    string
	// Weak edges are dashed: the edge is declared and not in force (lineage.Force).
	Weak bool
}

// Graph is the input of [DOT] and [Mermaid], which keep the order of Nodes and Edges.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// index numbers the nodes. The output has identifiers such as n0 and n1, because a
// Node.ID may not be an identifier of DOT or Mermaid.
func (g Graph) index() map[string]int {
	numbers := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		numbers[n.ID] = i
	}
	return numbers
}

// DOT writes a [Graph] for Graphviz. Edges between unknown nodes are left out.
func DOT(w io.Writer, g Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "digraph kinship {\n  rankdir=LR;\n  node [shape=box];\n")
	for i, n := range g.Nodes {
		style := ""
		if n.Root {
			style = ", penwidth=2"
		}
		fmt.Fprintf(out, "  n%d [label=%s%s];\n", i, dotQuote(join(n)), style)
	}
	numbers := g.index()
	for _, e := range g.Edges {
		from, fromOK := numbers[e.From]
		to, toOK := numbers[e.To]
		if !fromOK || !toOK {
			continue
		}
		style := ""
		if e.Weak {
			style = ", style=dashed"
		}
		fmt.Fprintf(out, "  n%d -> n%d [label=%s%s];\n", from, to, dotQuote(e.Label), style)
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// Mermaid writes a [Graph] as a Mermaid flowchart. Edges between unknown nodes are left
// out.
func Mermaid(w io.Writer, g Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "flowchart LR\n")
	for i, n := range g.Nodes {
		fmt.Fprintf(out, "  n%d[%s]\n", i, mermaidQuote(join(n)))
		if n.Root {
			fmt.Fprintf(out, "  style n%d stroke-width:3px\n", i)
		}
	}
	numbers := g.index()
	for _, e := range g.Edges {
		from, fromOK := numbers[e.From]
		to, toOK := numbers[e.To]
		if !fromOK || !toOK {
			continue
		}
		arrow := "-->"
		if e.Weak {
			arrow = "-.->"
		}
		fmt.Fprintf(out, "  n%d %s", from, arrow)
		if e.Label != "" {
			fmt.Fprintf(out, "|%s|", mermaidQuote(e.Label))
		}
		fmt.Fprintf(out, " n%d\n", to)
	}
	return out.Flush()
}

// JSON writes a value, indented by 2 spaces. The characters <, > and & are escaped for HTML,
// as in \u003c.
func JSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func join(n Node) string {
	if n.Status == "" {
		return n.Label
	}
	return n.Label + "\n" + n.Status
}

// dotQuote returns a string of DOT. In DOT a backslash begins an escape and a quote ends the
// string, so dotQuote writes `\\`, `\"` and `\n`.
func dotQuote(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Plain(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// mermaidQuote returns a string of Mermaid. Mermaid turns the string into HTML and reads
// Markdown in the string, so mermaidQuote writes all but harmless() characters as numbers,
// such as `#34;`.
func mermaidQuote(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			quoted.WriteString("<br/>")
		}
		for _, r := range Plain(line) {
			if harmless(r) {
				quoted.WriteRune(r)
				continue
			}
			fmt.Fprintf(&quoted, "#%d;", r)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

func harmless(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -./:", r)
}
