package answers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/render"
)

// NewTree returns the command "kinship tree".
func NewTree(streams genericiooptions.IOStreams) *cobra.Command {
	var options lineage.TreeOptions
	q := newQuestion(streams, "text", "json", "dot", "mermaid", "name")
	q.answer = func(ctx context.Context, cluster *lineage.Cluster, root *lineage.Node) error {
		tree, err := cluster.Tree(ctx, root, options)
		if err != nil {
			return err
		}
		err = q.writeTree(tree)
		q.warn(tree.Skipped)
		return err
	}
	cmd := q.command(&cobra.Command{
		Use:   "tree",
		Short: "Show what belongs to an object",
		Long: `Show the objects that an object owns, and theirs, with status and age; and at
each of them who uses it, what it uses, and what protects it.

An object that several others own is shown once; elsewhere it is marked.`,
		Example: `  kinship tree deployment/web -n prod
  kinship tree --up pod web-6d4f-x2x9p
  kinship tree cluster.eks.upbound.io/my-cluster -o mermaid`,
	})
	f := cmd.Flags()
	f.BoolVar(&options.Up, "up", false, "show what owns the object, and what owns that, instead")
	f.IntVar(&options.Depth, "depth", 0, "how many levels to show below the object (default all)")
	f.BoolVarP(&options.AllNamespaces, "all-namespaces", "A", false,
		"look for owned objects in all namespaces, also where owner references are not valid")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if options.Depth < 0 {
			return command.Misused(fmt.Errorf("--depth is %d; it can't be less than 0", options.Depth))
		}
		return check(cmd, args)
	}
	return cmd
}

func (q *question) writeTree(t *lineage.Tree) error {
	switch q.output {
	case "json":
		return render.JSON(q.Out, documentOf(t))
	case "dot":
		return render.DOT(q.Out, graphOf(t))
	case "mermaid":
		return render.Mermaid(q.Out, graphOf(t))
	case "name":
		for _, n := range nodesOf(t) {
			fmt.Fprintln(q.Out, resourceName(n.ID))
		}
		return nil
	}
	header := []string{"OBJECT", "STATUS", "AGE", "NOTE"}
	lines := linesOf(t.Root, t.Root, time.Now())
	return render.Lines(q.Out, header, []*render.Tree{lines}, colour(q.Out))
}

// nodesOf returns the nodes of a lineage.Tree, each once, from the root down.
func nodesOf(t *lineage.Tree) []*lineage.Node {
	var nodes []*lineage.Node
	seen := map[*lineage.Node]bool{}
	t.Walk(func(b *lineage.Branch) {
		if !seen[b.Node] {
			seen[b.Node] = true
			nodes = append(nodes, b.Node)
		}
	})
	return nodes
}

// edgesOf returns the edges of a lineage.Tree, each once.
func edgesOf(t *lineage.Tree) []lineage.Edge {
	var edges []lineage.Edge
	seen := map[lineage.Edge]bool{}
	t.Walk(func(b *lineage.Branch) {
		if b.Edge != nil && !seen[*b.Edge] {
			seen[*b.Edge] = true
			edges = append(edges, *b.Edge)
		}
	})
	return edges
}

// linesOf returns a lineage.Branch and its branches as lines with 4 cells: object, status, age and note.
func linesOf(b, root *lineage.Branch, now time.Time) *render.Tree {
	text := label(b.Node.ID, root.Node.ID.Namespace)
	switch {
	case b == root:
		text = b.Node.ID.String()
	case b.Via != lineage.Owns:
		text = string(b.Via) + " " + text
	}
	age := ""
	if !b.Node.Created.IsZero() {
		age = duration.HumanDuration(now.Sub(b.Node.Created))
	}
	line := &render.Tree{Cells: []render.Cell{
		render.Text(text), paint(b.Node.Status), render.Text(age), render.Text(strings.Join(notes(b, root), "; ")),
	}}
	for _, below := range b.Branches {
		line.Below = append(line.Below, linesOf(below, root, now))
	}
	return line
}

// label returns ID.String() of an object, without the namespace of the question.
func label(id object.ID, namespace string) string {
	if id.Namespace == namespace {
		id.Namespace = ""
	}
	return id.String()
}

func paint(s lineage.Status) render.Cell {
	colours := map[lineage.Status]render.Colour{
		lineage.Current: render.Green, lineage.InProgress: render.Yellow, lineage.Terminating: render.Yellow,
		lineage.Failed: render.Red, lineage.NotFound: render.Red, lineage.Unknown: render.Faint,
	}
	return render.Cell{Text: string(s), Colour: colours[s]}
}

// notes returns the texts of the NOTE column for a lineage.Branch.
func notes(b, root *lineage.Branch) []string {
	notes := edgeNotes(b, root)
	if b.Repeated {
		return append(notes, "shown elsewhere")
	}
	if b.Hidden > 0 {
		notes = append(notes, fmt.Sprintf("%d more below", b.Hidden))
	}
	if b.Via == lineage.Owns && len(b.Node.Owners) > 1 {
		notes = append(notes, fmt.Sprintf("has %d owners", len(b.Node.Owners)))
	}
	told := b.Edge != nil && !b.Edge.Force.InForce && b.Edge.Declarer == b.Node.ID
	if !told && b.Node.Message != "" && b.Node.Status != lineage.Current && b.Node.Status != lineage.Terminating {
		notes = append(notes, lines(b.Node.Message))
	}
	if b.Node.Status == lineage.Current {
		notes = append(notes, syncedNotes(b.Node)...)
	}
	return notes
}

// syncedNotes returns the message of a condition Synced that is True, such as which fields of a workload are left to a
// trait.
func syncedNotes(n *lineage.Node) []string {
	var notes []string
	for _, c := range n.Conditions {
		if c.Type == "Synced" && c.Status == metav1.ConditionTrue && c.Message != "" {
			notes = append(notes, lines(c.Message))
		}
	}
	return notes
}

// edgeNotes returns the notes about Branch.Edge: content, declarer and Force.Why.
func edgeNotes(b, root *lineage.Branch) []string {
	e := b.Edge
	if e == nil || e.Role == relation.Owner {
		return nil
	}
	var notes []string
	if e.Content != "" {
		notes = append(notes, e.Content)
	}
	if e.Declarer != e.Source.ID && e.Declarer != e.Target.ID && e.Declarer != root.Node.ID {
		notes = append(notes, "declared by "+label(e.Declarer, root.Node.ID.Namespace))
	}
	if !e.Force.InForce {
		notes = append(notes, "not in force: "+e.Force.Why)
	}
	return notes
}

// resourceName returns a name for kubectl, such as deployment.apps/web.
func resourceName(id object.ID) string {
	kind := strings.ToLower(id.Kind)
	if id.Group != "" {
		kind += "." + id.Group
	}
	return kind + "/" + id.Name
}

// graphOf returns a lineage.Tree as a render.Graph. An owner points to the owned object,
// and a using object points to the used object.
func graphOf(t *lineage.Tree) render.Graph {
	var g render.Graph
	for _, n := range nodesOf(t) {
		g.Nodes = append(g.Nodes, render.Node{
			ID: nodeKey(n), Label: n.ID.String(), Status: string(n.Status), Root: n == t.Root.Node,
		})
	}
	words := map[relation.Role]string{
		relation.Owner: "owns", relation.Usage: "uses", relation.Dependency: "needs",
		relation.Binding: "acts on", relation.Composition: "composes",
	}
	for _, e := range edgesOf(t) {
		from, to, word := e.Source, e.Target, words[e.Role]
		switch {
		case e.Role == relation.Owner:
			from, to = to, from
		case e.Declarer == from.ID:
			word = "protects"
		case e.Declarer == to.ID:
			word = "has protected"
		}
		g.Edges = append(g.Edges, render.Edge{From: nodeKey(from), To: nodeKey(to), Label: word, Weak: !e.Force.InForce})
	}
	return g
}

// nodeKey contains Node.UID: a deleted object and a new object of the same name are 2 nodes.
func nodeKey(n *lineage.Node) string { return n.ID.Key() + "/" + string(n.UID) }

// treeDocument is a lineage.Tree as JSON. docs/plugin.md describes the fields.
type treeDocument struct {
	Schema  string            `json:"schema"`
	Root    object.ID         `json:"root"`
	Nodes   []nodeDocument    `json:"nodes"`
	Edges   []edgeDocument    `json:"edges"`
	Skipped []lineage.Skipped `json:"skipped,omitempty"`
}

type nodeDocument struct {
	ID         object.ID      `json:"id"`
	UID        types.UID      `json:"uid,omitempty"`
	Status     lineage.Status `json:"status"`
	Message    string         `json:"message,omitempty"`
	Created    *time.Time     `json:"created,omitempty"`
	Deleted    *time.Time     `json:"deleted,omitempty"`
	Finalizers []string       `json:"finalizers,omitempty"`
}

type edgeDocument struct {
	Role      relation.Role `json:"role"`
	Source    object.ID     `json:"source"`
	SourceUID types.UID     `json:"sourceUID,omitempty"`
	Target    object.ID     `json:"target"`
	TargetUID types.UID     `json:"targetUID,omitempty"`
	Declarer  object.ID     `json:"declarer"`
	Field     string        `json:"field"`
	Content   string        `json:"content,omitempty"`
	lineage.Force
}

func documentOf(t *lineage.Tree) treeDocument {
	d := treeDocument{
		Schema: "kinship.dev/tree/v1alpha1", Root: t.Root.Node.ID,
		Nodes: []nodeDocument{}, Edges: []edgeDocument{}, Skipped: t.Skipped,
	}
	for _, n := range nodesOf(t) {
		d.Nodes = append(d.Nodes, nodeOf(n))
	}
	for _, e := range edgesOf(t) {
		d.Edges = append(d.Edges, edgeDocument{
			Role: e.Role, Source: e.Source.ID, SourceUID: e.Source.UID,
			Target: e.Target.ID, TargetUID: e.Target.UID, Declarer: e.Declarer,
			Field: e.Field, Content: e.Content, Force: e.Force,
		})
	}
	return d
}

func nodeOf(n *lineage.Node) nodeDocument {
	d := nodeDocument{
		ID: n.ID, UID: n.UID, Status: n.Status, Message: n.Message, Finalizers: n.Finalizers,
	}
	if !n.Created.IsZero() {
		at := n.Created.UTC()
		d.Created = &at
	}
	if n.Deleted != nil {
		at := n.Deleted.UTC()
		d.Deleted = &at
	}
	return d
}
