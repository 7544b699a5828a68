package lineage

import (
	"context"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Via names the [Edge] between a [Branch] and the branch above, such as "used by".
type Via string

// Owns is [Branch.Via] of an object that the object above owns.
const Owns Via = "owns"

// fromTarget and fromSource name the edges of each role, seen from the target and from
// the source.
var (
	fromTarget = map[relation.Role]Via{
		relation.Owner: Owns, relation.Usage: "used by", relation.Dependency: "needed by",
		relation.Binding: "bound by", relation.Composition: "composed by",
	}
	fromSource = map[relation.Role]Via{
		relation.Owner: "owned by", relation.Usage: "uses", relation.Dependency: "needs",
		relation.Binding: "acts on", relation.Composition: "composes",
	}
)

// TreeOptions are the options of [Cluster.Tree].
type TreeOptions struct {
	// Up shows the owners of the root instead of the objects that the root owns.
	Up bool
	// Depth is how many levels below the root are shown. 0 means all levels.
	Depth int
	// AllNamespaces looks for owned objects in all namespaces. The garbage collector
	// deletes an object whose owner is in another namespace.
	AllNamespaces bool
}

// Edge is a connection between 2 objects of an answer, such as Deployment/web and Secret/db.
type Edge struct {
	Role           relation.Role
	Source, Target *Node
	// Declarer is the object that declares the edge, such as a Usage. The owned object declares
	// metadata.ownerReferences.
	Declarer object.ID
	Field    string
	Force    Force
	// Content is the protected object, if Target is its Namespace or CustomResourceDefinition.
	Content string
}

// Branch is a [Node] of a [Tree] and the branches below.
type Branch struct {
	Node *Node
	// Via and Edge describe the edge to the branch above. The root has neither.
	Via  Via
	Edge *Edge
	// Repeated is true if another [Branch] shows the branches below Node.
	Repeated bool
	// Hidden counts the branches below TreeOptions.Depth.
	Hidden   int
	Branches []*Branch
}

// Tree shows the objects that an object owns, or its owners: Deployment/web owns a ReplicaSet. Each object is expanded
// once, even if several paths lead to the object.
type Tree struct {
	Root    *Branch
	Skipped []Skipped
}

// Walk calls visit() for every [Branch], from the root down.
func (t *Tree) Walk(visit func(*Branch)) { t.Root.walk(visit) }

func (b *Branch) walk(visit func(*Branch)) {
	visit(b)
	for _, below := range b.Branches {
		below.walk(visit)
	}
}

// Tree returns the tree of an object that [Cluster.Find] found: the owned objects as
// expanded branches, and the edges of relations as leaves.
func (c *Cluster) Tree(ctx context.Context, root *Node, o TreeOptions) (*Tree, error) {
	namespace := root.ID.Namespace
	c.readDeclarations(ctx, namespace)
	c.declareOnce(root)
	if o.AllNamespaces {
		namespace = ""
	}
	next := c.ownedBy
	if o.Up {
		next = c.owners
		c.readOwners(ctx, root, o.Depth)
	} else {
		c.list(ctx, c.catalog.ownable(namespace), namespace)
	}
	tree := &Tree{Root: branchOf(graph.Unfold(root, o.Depth, next), nil, o.Up)}
	c.addLeaves(ctx, tree)
	var shown []*Node
	tree.Walk(func(b *Branch) { shown = append(shown, b.Node) })
	c.readStatus(ctx, shown...)
	tree.Skipped = c.Skipped()
	return tree, contextError(ctx, root.ID)
}

// readOwners reads the owners of a [Node], their owners and so on, one level at a time.
func (c *Cluster) readOwners(ctx context.Context, n *Node, depth int) {
	graph.Levels([]*Node{n}, depth, func(level []*Node) []*Node {
		above := make([]*Node, 0, len(level))
		for _, owned := range level {
			above = append(above, c.owners(owned)...)
		}
		c.readStatus(ctx, above...)
		return above
	})
}

// branchOf turns an unfolded graph of owners into branches.
func branchOf(t *graph.Tree[*Node], above *Node, up bool) *Branch {
	b := &Branch{Node: t.Node, Repeated: t.Repeated, Hidden: t.Hidden}
	if above != nil {
		owned, owner := t.Node, above
		b.Via = Owns
		if up {
			owned, owner = above, t.Node
			b.Via = fromSource[relation.Owner]
		}
		b.Edge = &Edge{
			Role: relation.Owner, Source: owned, Target: owner, Declarer: owned.ID,
			Field: "metadata.ownerReferences", Force: Force{InForce: true},
		}
	}
	for _, below := range t.Below {
		b.Branches = append(b.Branches, branchOf(below, t.Node, up))
	}
	return b
}

// leaves adds leaves to the branches of a [Tree].
type leaves struct {
	*Cluster

	expanded map[*Node]bool
}

// addLeaves adds the edges of relations to each expanded branch of a tree.
func (c *Cluster) addLeaves(ctx context.Context, tree *Tree) {
	l := leaves{c, map[*Node]bool{}}
	var branches []*Branch
	var nodes, referring []*Node
	tree.Walk(func(b *Branch) {
		if b.Repeated {
			return
		}
		l.expanded[b.Node] = true
		branches, nodes = append(branches, b), append(nodes, b.Node)
		if c.rules.declares(b.Node.ID.GroupKind(), true) {
			referring = append(referring, b.Node)
		}
	})
	c.tryProtected(ctx, nodes)
	c.readStatus(ctx, referring...)
	for _, n := range referring {
		c.readWhole(ctx, n)
		c.declareOnce(n)
	}
	c.readReferrers(ctx, nodes, func(rule) bool { return true })
	for _, b := range branches {
		l.addIncoming(ctx, b)
		l.addOutgoing(ctx, b)
	}
	l.addDeclared(ctx, tree.Root)
}

// addIncoming adds the sources of the edges that target a branch's node. An edge without
// a source, such as a Usage with a reason only, shows its declarer.
func (l leaves) addIncoming(ctx context.Context, b *Branch) {
	edges, _ := l.collapse(l.index.Targeting(b.Node.object()))
	for _, e := range edges {
		via, sources := fromTarget[e.Role], l.members(ctx, e.Source)
		switch {
		case l.rules.of(e).builtIn && l.expanded[l.node(e.Source.ID)]:
			continue // The branch of the source shows the reference.
		case e.Content != nil:
			via, sources = "holds", []*Node{l.node(e.Declarer)}
		case e.Source.IsZero():
			via, sources = "protected by", []*Node{l.node(e.Declarer)}
		}
		for _, source := range sources {
			l.add(b, source, via, edgeOf(e, source, b.Node, l.force(ctx, e, b.Node)))
		}
	}
}

// addOutgoing adds the targets of the edges from a branch's node. A Pod's references are
// left out if the Pod's controller has references: the tree of a Deployment shows the
// references of the Pod template once, at the Deployment.
func (l leaves) addOutgoing(ctx context.Context, b *Branch) {
	controller, _, controlled := l.controller(b.Node)
	for _, e := range l.index.From(b.Node.object()) {
		inTemplate := l.rules.of(e).builtIn && e.Role == relation.Dependency
		if e.Content != nil || (inTemplate && controlled && l.rules.declares(controller.GroupKind(), true)) {
			continue
		}
		for _, target := range l.members(ctx, e.Target) {
			l.add(b, target, fromSource[e.Role], edgeOf(e, b.Node, target, l.force(ctx, e, target)))
		}
	}
}

// addDeclared adds both ends of the edges between other objects that the root declares,
// as a Usage does.
func (l leaves) addDeclared(ctx context.Context, root *Branch) {
	for _, e := range l.index.Declared(root.Node.ID) {
		if e.Content != nil || isEnd(e, root.Node.ID) {
			continue
		}
		whole := l.reportedForce(e)
		for _, target := range l.members(ctx, e.Target) {
			force := l.force(ctx, e, target)
			if !force.InForce {
				whole = force
			}
			l.add(root, target, "protects", edgeOf(e, root.Node, target, force))
		}
		for _, source := range l.members(ctx, e.Source) {
			l.add(root, source, "for", edgeOf(e, source, root.Node, whole))
		}
	}
}

// isEnd reports whether an object is the source or the target of an edge.
func isEnd(e relation.Edge, id object.ID) bool {
	return e.Source == relation.Named(id) || e.Target == relation.Named(id)
}

// add adds a leaf, unless the edge is a Composition of an object that owns the other:
// the owner reference is shown already.
func (l leaves) add(b *Branch, n *Node, via Via, e *Edge) {
	if e.Role == relation.Composition && e.Target.isOwnedBy(e.Source) {
		return
	}
	b.Branches = append(b.Branches, &Branch{Node: n, Via: via, Edge: e, Repeated: l.expanded[n]})
}

// edgeOf returns the [Edge] between two objects of a relation's edge.
func edgeOf(e relation.Edge, source, target *Node, force Force) *Edge {
	edge := &Edge{Role: e.Role, Source: source, Target: target, Declarer: e.Declarer, Field: e.Field, Force: force}
	if e.Content != nil {
		edge.Content = e.Content.String()
	}
	return edge
}
