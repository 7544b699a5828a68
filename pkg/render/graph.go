package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Node is one object in a picture.
type Node struct {
	// ID is unique in the graph.
	ID string
	// Label is what people read.
	Label string
	// Status is shown below the label.
	Status string
	// Root marks the node that the picture is about.
	Root bool
}

// Edge leads from one node to another, by their IDs.
type Edge struct {
	From, To string
	Label    string
	// Weak edges are drawn as dashes: they are declared but not in force.
	Weak bool
}

// Graph is what DOT and Mermaid show. Writers keep the order of its nodes and
// edges.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// index numbers the nodes. Numbers, not names, are the identifiers in what is
// written, so that no name has to be one.
func (g Graph) index() map[string]int {
	numbers := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		numbers[n.ID] = i
	}
	return numbers
}

// DOT writes a graph for Graphviz. Edges between unknown nodes are left out.
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

// Mermaid writes a graph as a Mermaid flowchart. Edges between unknown nodes are
// left out.
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

// JSON writes a value, indented, with every character that HTML would read as
// its own escaped.
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

// dotQuote returns a string of DOT. There a backslash begins an escape and a
// quote ends the string; a line break is written as an escape.
func dotQuote(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Plain(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// mermaidQuote returns a string of Mermaid, which is turned into HTML and may
// hold Markdown. Every character but the harmless is written as its number, so
// that no rule about what means something has to be known.
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
