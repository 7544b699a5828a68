package lineage

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// reference returns the reference relation that an edge is of.
func (c *Cluster) reference(e relation.Edge) (relation.Relation, bool) {
	r, ok := c.references[e.Relation]
	return r, ok
}

// refers reports whether objects of a kind have fields that name other objects, by the
// references of Kubernetes' own kinds.
func (c *Cluster) refers(gk schema.GroupKind) bool {
	return slices.ContainsFunc(c.options.References, func(r relation.Relation) bool { return r.Declarer == gk })
}

// refer reads the objects whose fields may name one of some nodes, each kind once. Unlike the
// objects that declare relations of packs they are many, such as all Pods, so that only those are
// read that can name a node: of kinds with a reference to the node's kind, and in the node's
// namespace unless the reference leads across namespaces.
func (c *Cluster) refer(ctx context.Context, nodes ...*Node) error {
	var wanted []listKey
	for _, n := range nodes {
		for _, r := range c.options.References {
			k, served := c.catalog.Kind(r.Declarer)
			if !served || (r.Target.Kind != "" && r.Target != n.ID.GroupKind()) {
				continue
			}
			key := listKey{gk: r.Declarer}
			if k.Namespaced && !r.Across {
				key.namespace = n.ID.Namespace
			}
			if !c.referred[key] && !c.referred[listKey{gk: r.Declarer}] {
				c.referred[key] = true
				wanted = append(wanted, key)
			}
		}
	}
	listed := make([][]*unstructured.Unstructured, len(wanted))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for i, key := range wanted {
		k, _ := c.catalog.Kind(key.gk)
		group.Go(func() (err error) {
			if listed[i], err = c.listFull(groupCtx, k, key.namespace); err != nil {
				return c.skip(groupCtx, k, Skipped{Namespace: key.namespace}, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("read the objects that may refer to %s: %w", nodes[0].ID, err)
	}
	for i, key := range wanted {
		k, _ := c.catalog.Kind(key.gk)
		for _, obj := range listed[i] {
			n := &Node{ID: object.Of(obj, key.gk)}
			n.take(obj)
			c.register([]*Node{n})
			c.hear(k, c.node(n.ID))
		}
	}
	return nil
}

// readReferences reads what nodes of a tree name, and who names them.
func (c *Cluster) readReferences(ctx context.Context, nodes []*Node) error {
	var referring []*Node
	for _, n := range nodes {
		if c.refers(n.ID.GroupKind()) {
			referring = append(referring, n)
		}
	}
	if err := c.fill(ctx, referring); err != nil {
		return err
	}
	for _, n := range referring {
		if err := c.whole(ctx, n); err != nil {
			return err
		}
		c.hearOne(n)
	}
	return c.refer(ctx, nodes...)
}

// repeats reports whether an edge is a reference of an object whose controller has such
// references itself. A Pod's references are those of the Deployment's template: a tree shows them
// at the Deployment.
func (c *Cluster) repeats(n *Node, e relation.Edge) bool {
	i := slices.IndexFunc(n.Owners, controls)
	r, ok := c.reference(e)
	return ok && i >= 0 && r.Role == relation.Dependency && c.refers(c.ownerID(n, n.Owners[i]).GroupKind())
}

// made reports whether a node has its controller among some objects.
func made(n *Node, among map[types.UID]bool) bool {
	return slices.ContainsFunc(n.Owners, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && among[o.UID]
	})
}

// withoutMade drops the references of objects whose controller has the same reference, and counts
// these objects by the controller. For example a Deployment, its ReplicaSet and its Pods name the
// same Secret: the Deployment is kept, because its author is the one to change the reference.
func (c *Cluster) withoutMade(edges []relation.Edge) (kept []relation.Edge, counts map[object.ID]int) {
	sources := map[types.UID]bool{}
	for _, e := range edges {
		if _, ok := c.reference(e); ok {
			sources[c.node(e.Source.ID).UID] = true
		}
	}
	counts = map[object.ID]int{}
	counted := map[object.ID]bool{}
	for _, e := range edges {
		source := c.node(e.Source.ID)
		if _, ok := c.reference(e); !ok || !made(source, sources) {
			kept = append(kept, e)
			continue
		}
		if !counted[source.ID] {
			counted[source.ID] = true
			counts[c.maker(source, sources)]++
		}
	}
	return kept, counts
}

// maker returns the topmost of some objects that controls a node, directly or by way of others.
func (c *Cluster) maker(n *Node, among map[types.UID]bool) object.ID {
	for range maxSteps {
		i := slices.IndexFunc(n.Owners, controls)
		if i < 0 || !among[n.Owners[i].UID] {
			break
		}
		n = c.node(c.ownerID(n, n.Owners[i]))
	}
	return n.ID
}

// missedBy says which objects name a node that nobody has deleted, without anything keeping the
// node for them.
func (x *explainer) missedBy(n *Node) []*Finding {
	if n.Deleted != nil || n.Status == NotFound {
		return nil
	}
	edges, made := x.withoutMade(x.index.Targeting(n.object()))
	var findings []*Finding
	for _, e := range edges {
		r, ok := x.reference(e)
		if !ok || (r.Finalizer != "" && slices.Contains(n.Finalizers, r.Finalizer)) {
			continue
		}
		text := fmt.Sprintf("%s names it (%s)", e.Source.ID, e.Field)
		if count := made[e.Source.ID]; count > 0 {
			text += fmt.Sprintf(", and so %s", objects(count))
		}
		findings = append(findings, &Finding{
			About: e.Source.ID, Topic: AboutReference, Text: text + ", and does not keep it",
		})
	}
	findings, more := few(n.ID, findings)
	return append(findings, more...)
}

// objects counts the objects that another one made.
func objects(n int) string {
	if n == 1 {
		return "does 1 object that it made"
	}
	return fmt.Sprintf("do %d objects that it made", n)
}
