package lineage

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Absence tells about an object that does not exist: what waits for the object, or where it is instead.
type Absence struct {
	ID object.ID
	// NoNamespace says that the namespace of the ID does not exist.
	NoNamespace bool
	// Elsewhere has the namespaces with an object of the kind and name, in order. Elsewhere is empty if the caller may
	// not list objects of the kind in all namespaces.
	Elsewhere []string
	// NamedBy has the edges of objects that name the ID, such as VirtualNetworksSubnet/front in spec.routeTable. An
	// object in spec.ownerRef, which the object waits for, is named too.
	NamedBy []relation.Edge
	// Skipped has what could not be read.
	Skipped []Skipped
}

// Absence looks for what names an object that [Cluster.Find] did not find.
func (c *Cluster) Absence(ctx context.Context, id object.ID) (*Absence, error) {
	a := &Absence{ID: id}
	if id.Namespace != "" {
		namespace := c.node(object.ID{Kind: "Namespace", Name: id.Namespace})
		c.readStatus(ctx, namespace)
		a.NoNamespace = namespace.Status == NotFound
		a.Elsewhere = c.elsewhere(ctx, id)
	}
	n := c.node(id)
	c.readDeclarations(ctx, id.Namespace)
	c.readReferrers(ctx, []*Node{n}, func(rule) bool { return true })
	edges, _ := c.collapse(c.index.Targeting(n.object()))
	for _, e := range append(edges, c.ownedEdges(ctx, id)...) {
		if e.Target.ID == id && e.Role != relation.Composition {
			a.NamedBy = append(a.NamedBy, e)
		}
	}
	a.Skipped = c.skippedFor(n)
	return a, contextError(ctx, id)
}

// elsewhere returns the other namespaces that have an object of the kind and name.
func (c *Cluster) elsewhere(ctx context.Context, id object.ID) []string {
	k, served := c.catalog.Kind(id.GroupKind())
	if !served {
		return nil
	}
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", id.Name).String()}
	list, err := c.metadata.Resource(k.Resource).List(ctx, byName)
	switch {
	case apierrors.IsForbidden(err):
		return nil // The question is about one namespace.
	case err != nil:
		c.skip(k, Skipped{}, err)
		return nil
	}
	return lists.Map(list.Items, func(m metav1.PartialObjectMetadata) string { return m.Namespace })
}

// ownedEdges returns the edges with role Owner of the objects in a namespace that name an owner.
func (c *Cluster) ownedEdges(ctx context.Context, owner object.ID) []relation.Edge {
	rules := c.ownerRules.where(func(r rule) bool {
		_, served := c.catalog.Kind(r.Declarer)
		return served && r.MayTarget(owner.GroupKind())
	})
	var edges []relation.Edge
	for _, gk := range rules.declarers() {
		for _, obj := range c.listDeclaring(ctx, listKey{gk: gk, namespace: owner.Namespace}, "") {
			n := &Node{ID: object.Of(obj, gk)}
			n.setObject(obj)
			edges = append(edges, c.ownerEdges(n)...)
		}
	}
	return slices.DeleteFunc(edges, func(e relation.Edge) bool { return e.Target.ID != owner })
}

// ownerEdges returns the edges with role Owner that an object declares. A controller sets an owner reference when the
// owner exists, so owner references do not tell which owner an object waits for.
func (c *Cluster) ownerEdges(n *Node) []relation.Edge {
	rules := c.ownerRules.declaredBy(n.ID.GroupKind())
	if n.full == nil || len(rules) == 0 {
		return nil
	}
	edges, err := c.extract(n, rules)
	if err != nil {
		k, _ := c.catalog.Kind(n.ID.GroupKind())
		c.skip(k, Skipped{Namespace: n.ID.Namespace}, err)
	}
	return edges
}
