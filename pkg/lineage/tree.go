package lineage

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Via says how a branch hangs on the one above it: what the object above does, or
// has done to it.
type Via string

// The ways of an edge, seen from its target and from its source.
const (
	Owns       Via = "owns"
	OwnedBy    Via = "owned by"
	UsedBy     Via = "used by"
	Uses       Via = "uses"
	Protected  Via = "protected by"
	Holds      Via = "holds"
	Protects   Via = "protects"
	For        Via = "for"
	NeededBy   Via = "needed by"
	Needs      Via = "needs"
	BoundBy    Via = "bound by"
	BindsTo    Via = "acts on"
	ComposedBy Via = "composed by"
	Composes   Via = "composes"
)

// fromTarget and fromSource name each role's edges from either end.
var (
	fromTarget = map[relation.Role]Via{
		relation.Owner: Owns, relation.Usage: UsedBy, relation.Dependency: NeededBy,
		relation.Binding: BoundBy, relation.Composition: ComposedBy,
	}
	fromSource = map[relation.Role]Via{
		relation.Owner: OwnedBy, relation.Usage: Uses, relation.Dependency: Needs,
		relation.Binding: BindsTo, relation.Composition: Composes,
	}
)

// TreeOptions say what a tree shows.
type TreeOptions struct {
	// Up shows what the root belongs to instead of what belongs to it.
	Up bool
	// Depth is how many levels below the root are shown; zero means all.
	Depth int
	// AllNamespaces looks for owned objects in all namespaces, also where owner
	// references do not reach and the garbage collector deletes what has them.
	AllNamespaces bool
}

// Edge is a connection between two objects of an answer.
type Edge struct {
	Role           relation.Role
	Source, Target *Node
	// Declarer is the object that says so: for owner references, the owned one.
	Declarer object.ID
	Field    string
	Force    Force
	// Content is set if the target only holds what is really protected.
	Content string
}

// Branch is a node and what hangs on it.
type Branch struct {
	Node *Node
	// Via and Edge tell how it hangs on the branch above; the root has neither.
	Via  Via
	Edge *Edge
	// Repeated says that the node has a branch of its own elsewhere in the tree.
	Repeated bool
	// Hidden is how many branches lie below the depth that was asked for.
	Hidden   int
	Branches []*Branch
}

// Tree is what belongs to an object, or what it belongs to. An object is
// expanded once, however many paths lead to it.
type Tree struct {
	Root    *Branch
	Skipped []Skipped
}

// Walk calls visit for every branch, from the root down.
func (t *Tree) Walk(visit func(*Branch)) { walk(t.Root, visit) }

func walk(b *Branch, visit func(*Branch)) {
	visit(b)
	for _, below := range b.Branches {
		walk(below, visit)
	}
}

// Tree returns the tree of an object that [Cluster.Find] found. First come the
// objects it owns and theirs, as nodes that are expanded; then what relations say
// of each of them, as leaves.
func (c *Cluster) Tree(ctx context.Context, root *Node, o TreeOptions) (*Tree, error) {
	namespace := root.ID.Namespace
	if err := c.declare(ctx, namespace); err != nil {
		return nil, err
	}
	c.hearOne(root)
	if o.AllNamespaces {
		namespace = ""
	}
	var err error
	if o.Up {
		err = c.readOwners(ctx, root, o.Depth)
	} else {
		err = c.list(ctx, c.catalog.ownable(namespace), namespace)
	}
	if err != nil {
		return nil, err
	}
	g := grower{cluster: c, options: o, expanded: map[*Node]bool{}}
	t := &Tree{Root: &Branch{Node: root}}
	g.grow(t.Root, 0)
	expanded := make([]*Node, 0, len(g.order))
	for _, b := range g.order {
		expanded = append(expanded, b.Node)
	}
	if err := c.tryProtected(ctx, expanded); err != nil {
		return nil, err
	}
	if err := c.readReferences(ctx, expanded); err != nil {
		return nil, err
	}
	for _, b := range g.order {
		if err := g.attach(ctx, b); err != nil {
			return nil, err
		}
	}
	if err := g.declared(ctx, t.Root); err != nil {
		return nil, err
	}
	var shown []*Node
	t.Walk(func(b *Branch) { shown = append(shown, b.Node) })
	if err := c.fill(ctx, shown); err != nil {
		return nil, err
	}
	t.Skipped = c.Skipped()
	return t, nil
}

// grower builds a tree from what was read.
type grower struct {
	cluster  *Cluster
	options  TreeOptions
	expanded map[*Node]bool
	order    []*Branch // expanded branches, from the root down
}

// grow adds the owned objects, or the owners, of a branch's node, and theirs.
func (g *grower) grow(b *Branch, depth int) {
	g.expanded[b.Node] = true
	g.order = append(g.order, b)
	next := g.next(b.Node)
	if g.options.Depth > 0 && depth >= g.options.Depth {
		b.Hidden = len(next)
		return
	}
	b.Branches = next
	for _, below := range next {
		if g.expanded[below.Node] {
			below.Repeated = true
			continue
		}
		g.grow(below, depth+1)
	}
}

func (g *grower) next(n *Node) []*Branch {
	var branches []*Branch
	if !g.options.Up {
		for _, owned := range g.cluster.ownedBy(n) {
			branches = append(branches, &Branch{Node: owned, Via: Owns, Edge: ownerEdge(owned, n)})
		}
		return branches
	}
	for _, owner := range g.cluster.owners(n) {
		branches = append(branches, &Branch{Node: owner, Via: OwnedBy, Edge: ownerEdge(n, owner)})
	}
	return branches
}

func ownerEdge(owned, owner *Node) *Edge {
	return &Edge{
		Role: relation.Owner, Source: owned, Target: owner, Declarer: owned.ID,
		Field: "metadata.ownerReferences", Force: Force{InForce: true},
	}
}

// attach adds what relations say of a branch's node. What it is connected to is
// shown as a leaf: it does not belong to the node, and has a tree of its own.
func (g *grower) attach(ctx context.Context, b *Branch) error {
	obj := b.Node.object()
	targeting, _ := g.cluster.withoutMade(g.cluster.index.Targeting(obj))
	for _, e := range targeting {
		if g.tellsItself(e) {
			continue
		}
		leaves, err := g.cluster.ends(ctx, e, e.Source, b.Node, fromTarget[e.Role])
		if err != nil {
			return err
		}
		g.leaves(b, leaves)
	}
	for _, e := range g.cluster.index.From(obj) {
		if e.Content != nil || g.cluster.repeats(b.Node, e) {
			continue // What is used is shown, not what holds it, and the maker's reference once.
		}
		leaves, err := g.cluster.ends(ctx, e, e.Target, b.Node, fromSource[e.Role])
		if err != nil {
			return err
		}
		g.leaves(b, leaves)
	}
	return nil
}

// tellsItself reports whether an edge is a reference of an object that the tree expands: the edge is
// shown there, as what that object needs.
func (g *grower) tellsItself(e relation.Edge) bool {
	_, ok := g.cluster.reference(e)
	return ok && g.expanded[g.cluster.node(e.Source.ID)]
}

// declared adds both ends of what the root itself declares about others.
func (g *grower) declared(ctx context.Context, root *Branch) error {
	for _, e := range g.cluster.index.Declared(root.Node.ID) {
		if e.Content != nil || isEnd(e, root.Node.ID) {
			continue
		}
		targets, err := g.cluster.members(ctx, e.Target)
		if err != nil {
			return err
		}
		sources, err := g.cluster.members(ctx, e.Source)
		if err != nil {
			return err
		}
		whole := g.cluster.reported(e)
		for _, n := range targets {
			force, err := g.cluster.force(ctx, e, n)
			if err != nil {
				return err
			}
			if !force.InForce {
				whole = force
			}
			edge := &Edge{
				Role: e.Role, Source: root.Node, Target: n,
				Declarer: e.Declarer, Field: e.Field, Force: force,
			}
			g.leaves(root, []*Branch{{Node: n, Via: Protects, Edge: edge}})
		}
		for _, n := range sources {
			edge := &Edge{
				Role: e.Role, Source: n, Target: root.Node,
				Declarer: e.Declarer, Field: e.Field, Force: whole,
			}
			g.leaves(root, []*Branch{{Node: n, Via: For, Edge: edge}})
		}
	}
	return nil
}

// isEnd reports whether an object is at an end of the edge. What it says of itself
// is shown as what connects it to others.
func isEnd(e relation.Edge, id object.ID) bool {
	return e.Source == relation.Named(id) || e.Target == relation.Named(id)
}

// leaves adds leaves to a branch, but for those that say once more who owns whom.
func (g *grower) leaves(b *Branch, leaves []*Branch) {
	for _, leaf := range leaves {
		if leaf.Edge.Role == relation.Composition && isOwner(leaf.Edge.Source, leaf.Edge.Target) {
			continue
		}
		leaf.Repeated = g.expanded[leaf.Node]
		b.Branches = append(b.Branches, leaf)
	}
}

// isOwner reports whether an owner reference leads from one node to another.
func isOwner(owner, owned *Node) bool {
	return owner.UID != "" && slices.ContainsFunc(owned.Owners, sameUID(owner.UID))
}

// ends returns a leaf for each object at the other end of an edge from a node. A
// node that is protected for its own sake, or for what it holds, has the
// declaring object there.
func (c *Cluster) ends(
	ctx context.Context, e relation.Edge, other relation.Ref, from *Node, via Via,
) ([]*Branch, error) {
	members, err := c.members(ctx, other)
	if err != nil {
		return nil, err
	}
	content := ""
	switch {
	case e.Content != nil:
		content = e.Content.String()
		members, via = []*Node{c.node(e.Declarer)}, Holds
	case other.IsZero():
		members, via = []*Node{c.node(e.Declarer)}, Protected
	}
	leaves := make([]*Branch, 0, len(members))
	for _, n := range members {
		edge := &Edge{
			Role: e.Role, Source: n, Target: from, Declarer: e.Declarer,
			Field: e.Field, Content: content,
		}
		if via == fromSource[e.Role] {
			edge.Source, edge.Target = from, n
		}
		if edge.Force, err = c.force(ctx, e, edge.Target); err != nil {
			return nil, err
		}
		leaves = append(leaves, &Branch{Node: n, Via: via, Edge: edge})
	}
	return leaves, nil
}

// owners returns the nodes that an object's owner references name, each once, in
// order. An owner that was read and has another uid is not there any more.
func (c *Cluster) owners(n *Node) []*Node {
	var owners []*Node
	for i, ref := range n.Owners {
		if slices.ContainsFunc(n.Owners[:i], sameUID(ref.UID)) {
			continue
		}
		owner := c.node(c.ownerID(n, ref))
		if owner.UID != ref.UID && (owner.full != nil || owner.UID != "") {
			owner = replaced(owner.ID, ref.UID)
		}
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, compareNodes)
	return owners
}

// replaced returns the node of an object that is gone, although there is one of
// its name.
func replaced(id object.ID, uid types.UID) *Node {
	return &Node{ID: id, UID: uid, Status: NotFound, Message: "gone; there is another object of that name now"}
}

func sameUID(uid types.UID) func(metav1.OwnerReference) bool {
	return func(o metav1.OwnerReference) bool { return o.UID == uid }
}

// ownerID returns the ID of an owner, which lives in the same namespace or in
// none.
func (c *Cluster) ownerID(n *Node, ref metav1.OwnerReference) object.ID {
	gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: ref.Name}
	if k, ok := c.catalog.Kind(gk); !ok || k.Namespaced {
		id.Namespace = n.ID.Namespace
	}
	return id
}

// readOwners reads the owners of a node, theirs, and so on, level by level. What
// was read already ends the search, so that owners in a circle do.
func (c *Cluster) readOwners(ctx context.Context, n *Node, depth int) error {
	seen := map[*Node]bool{n: true}
	level := []*Node{n}
	for i := 0; len(level) > 0 && (depth == 0 || i < depth); i++ {
		var above []*Node
		for _, owned := range level {
			for _, owner := range c.owners(owned) {
				if !seen[owner] {
					seen[owner] = true
					above = append(above, owner)
				}
			}
		}
		if err := c.fill(ctx, above); err != nil {
			return err
		}
		level = above
	}
	return nil
}
