package lineage

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// rule is a relation that the caller gave to [New].
type rule struct {
	relation.Relation

	// builtIn marks an entry of Options.References.
	builtIn bool
}

// rules are the entries of Options.Relations, then the entries of Options.References.
type rules []rule

// newRules returns the rules, and the rules with role Owner apart: the owner reference of an object is their edge.
func newRules(o Options) (others, owner rules) {
	all := make(rules, 0, len(o.Relations)+len(o.References))
	for _, r := range o.Relations {
		all = append(all, rule{Relation: r})
	}
	for _, r := range o.References {
		all = append(all, rule{Relation: r, builtIn: true})
	}
	isOwner := func(r rule) bool { return r.Role == relation.Owner }
	return slices.DeleteFunc(slices.Clone(all), isOwner), all.where(isOwner)
}

// of returns the rule that an edge comes from, or an empty rule.
func (all rules) of(e relation.Edge) rule {
	if i := slices.IndexFunc(all, func(r rule) bool { return r.Name == e.Relation }); i >= 0 {
		return all[i]
	}
	return rule{}
}

// where returns the rules for which accept returns true.
func (all rules) where(accept func(rule) bool) rules {
	return slices.DeleteFunc(slices.Clone(all), func(r rule) bool { return !accept(r) })
}

// declarers returns the kinds that declare edges by the rules, each once.
func (all rules) declarers() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, r := range all {
		if !slices.Contains(kinds, r.Declarer) {
			kinds = append(kinds, r.Declarer)
		}
	}
	return kinds
}

// declaredBy returns the rules by which objects of a kind declare edges.
func (all rules) declaredBy(gk schema.GroupKind) rules {
	return all.where(func(r rule) bool { return r.Declarer == gk })
}

// holdingBy returns the rules whose sources keep their targets by a finalizer.
func (all rules) holdingBy(finalizer string) rules {
	return all.where(func(r rule) bool { return finalizer != "" && r.Finalizer == finalizer })
}

// declares reports whether the objects of a kind declare edges: by Options.References if
// builtIn is true, or else by Options.Relations.
func (all rules) declares(gk schema.GroupKind, builtIn bool) bool {
	return slices.ContainsFunc(all, func(r rule) bool { return r.builtIn == builtIn && r.Declarer == gk })
}

// readReferrers reads the objects whose fields can name one of some nodes by a rule of
// Options.References for which accept returns true. A reference that does not lead
// across namespaces is read in the node's namespace only, because these objects, such as
// Pods, are many.
func (c *Cluster) readReferrers(ctx context.Context, nodes []*Node, accept func(rule) bool) {
	var wanted []listKey
	for _, n := range nodes {
		for _, r := range c.rules {
			if !r.builtIn || !accept(r) || !r.MayTarget(n.ID.GroupKind()) {
				continue
			}
			key := listKey{gk: r.Declarer}
			if k, served := c.catalog.Kind(r.Declarer); served && k.Namespaced && !r.Across {
				key.namespace = n.ID.Namespace
			}
			wanted = append(wanted, key)
		}
	}
	c.readDeclarers(ctx, wanted, "")
}

// readDeclarations reads all objects that declare edges by Options.Relations. Where the
// caller may list the objects in one namespace only, readDeclarations reads those of the
// given namespace.
func (c *Cluster) readDeclarations(ctx context.Context, namespace string) {
	kinds := c.rules.where(func(r rule) bool { return !r.builtIn }).declarers()
	wanted := lists.Map(kinds, func(gk schema.GroupKind) listKey { return listKey{gk: gk} })
	c.readDeclarers(ctx, wanted, namespace)
}

// readDeclarers lists declaring objects and adds their edges to c.index. A scope that was
// read before is left out.
func (c *Cluster) readDeclarers(ctx context.Context, wanted []listKey, fallback string) {
	wanted = slices.DeleteFunc(wanted, func(key listKey) bool {
		_, served := c.catalog.Kind(key.gk)
		if !served || c.declared[key] || c.declared[listKey{gk: key.gk}] {
			return true
		}
		c.declared[key] = true
		return false
	})
	listed := make(map[listKey][]*unstructured.Unstructured, len(wanted))
	inParallel(wanted, func(key listKey) {
		objects := c.listDeclaring(ctx, key, fallback)
		c.mu.Lock()
		defer c.mu.Unlock()
		listed[key] = objects
	})
	for _, key := range wanted {
		for _, obj := range listed[key] {
			n := &Node{ID: object.Of(obj, key.gk)}
			n.setObject(obj)
			c.register(n)
			c.declare(c.node(n.ID))
		}
	}
}

// listDeclaring lists the declaring objects of a scope. If the caller may not list all
// namespaces, listDeclaring lists the fallback namespace and records the others as Skipped.
func (c *Cluster) listDeclaring(ctx context.Context, key listKey, fallback string) []*unstructured.Unstructured {
	k, _ := c.catalog.Kind(key.gk)
	objects, err := c.listObjects(ctx, k, key.namespace)
	if err == nil {
		c.noteListed(k, key.namespace, len(objects))
		return objects
	}
	s := Skipped{Namespace: key.namespace}
	if apierrors.IsForbidden(err) && k.Namespaced && fallback != "" {
		here, hereErr := c.listObjects(ctx, k, fallback)
		if hereErr == nil {
			s.Except = fallback
			c.noteListed(k, fallback, len(here))
			objects = here
		}
	}
	c.skip(k, s, err)
	return objects
}

// declare adds the edges that a [Node] declares to c.index, if the whole object was read.
// An object that Options.Decode rejects is recorded as Skipped.
func (c *Cluster) declare(n *Node) {
	rules := c.rules.declaredBy(n.ID.GroupKind())
	if n.full == nil || len(rules) == 0 {
		return
	}
	edges, err := c.extract(n, rules)
	if err != nil && c.rules.declares(n.ID.GroupKind(), false) {
		k, _ := c.catalog.Kind(n.ID.GroupKind())
		c.skip(k, Skipped{Namespace: n.ID.Namespace}, fmt.Errorf("%s can't be read: %w", n.ID.Short(), err))
	}
	c.index.Set(n.ID, edges)
}

// extract returns the edges that a [Node] declares by rules. If Options.Decode rejects the object, extract returns the
// error, and the edges by Options.References.
func (c *Cluster) extract(n *Node, rules rules) ([]relation.Edge, error) {
	typed, err := c.options.Decode(n.full)
	if err != nil {
		rules = rules.where(func(r rule) bool { return r.builtIn })
	}
	var edges []relation.Edge
	for _, r := range rules {
		obj := typed
		if r.builtIn {
			obj = n.full
		}
		for _, e := range r.Extract(obj, c.catalog) {
			e.Relation = r.Name
			edges = append(edges, e)
		}
	}
	return edges, err
}

// declareOnce is declare for an object whose kind could not be listed.
func (c *Cluster) declareOnce(n *Node) {
	if len(c.index.Declared(n.ID)) == 0 {
		c.declare(n)
	}
}

// members returns the objects at an end of an edge: one named object, or all listed
// objects that a selector matches.
func (c *Cluster) members(ctx context.Context, ref relation.Ref) []*Node {
	switch k, ok := c.catalog.Kind(ref.GroupKind()); {
	case ref.IsZero():
		return nil
	case ref.Selector == nil:
		return []*Node{c.node(ref.ID)}
	case ok:
		c.list(ctx, []kind{k}, ref.Namespace)
		return c.selectNodes(func(n *Node) bool { return ref.Matches(n.object()) })
	}
	return nil
}

// sources returns the objects that need an edge's target. If an object has another uid
// than the edge's SourceUID, the source was deleted and an object of its name created.
func (c *Cluster) sources(ctx context.Context, e relation.Edge) []*Node {
	nodes := c.members(ctx, e.Source)
	if e.SourceUID == "" {
		return nodes
	}
	c.readStatus(ctx, nodes...)
	for i, n := range nodes {
		if n.UID != "" && n.UID != e.SourceUID {
			nodes[i] = replaced(n.ID, e.SourceUID)
		}
	}
	return nodes
}

// neighbour is an object at the other end of edges of a [Node]: Secret/db for Pod/web.
type neighbour struct {
	*Node

	edges []relation.Edge
}

// neighbours groups edges by the objects at their other end, in the order of the edges.
func neighbours(edges []relation.Edge, otherEnd func(relation.Edge) []*Node) []neighbour {
	var found []neighbour
	for _, e := range edges {
		for _, n := range otherEnd(e) {
			i := slices.IndexFunc(found, func(b neighbour) bool { return b.Node == n })
			if i < 0 {
				i, found = len(found), append(found, neighbour{Node: n})
			}
			found[i].edges = append(found[i].edges, e)
		}
	}
	return found
}

// fields returns the fields that declare the edges, such as spec.networkRef, each once.
func (b neighbour) fields() []string {
	var fields []string
	for _, e := range b.edges {
		if !slices.Contains(fields, e.Field) {
			fields = append(fields, e.Field)
		}
	}
	return fields
}

// collapse drops the references of objects whose controller has the same reference, and
// counts the dropped objects by controller. For example a Deployment, its ReplicaSet and
// its 2 Pods name Secret/db: collapse keeps the edge of the Deployment, whose author can
// change the reference, and counts 3.
func (c *Cluster) collapse(edges []relation.Edge) (kept []relation.Edge, counts map[object.ID]int) {
	referring := map[types.UID]bool{}
	for _, e := range edges {
		if c.rules.of(e).builtIn {
			referring[c.node(e.Source.ID).UID] = true
		}
	}
	controllers := func(n *Node) []*Node {
		if id, uid, ok := c.controller(n); ok && referring[uid] {
			return []*Node{c.node(id)}
		}
		return nil
	}
	counts = map[object.ID]int{}
	counted := map[object.ID]bool{}
	for _, e := range edges {
		source := c.node(e.Source.ID)
		top, _ := graph.Find([]*Node{source}, 0, controllers, func(n *Node) bool { return len(controllers(n)) == 0 })
		if !c.rules.of(e).builtIn || len(top) < 2 {
			kept = append(kept, e)
			continue
		}
		if !counted[source.ID] {
			counted[source.ID] = true
			counts[top[len(top)-1].ID]++
		}
	}
	return kept, counts
}
