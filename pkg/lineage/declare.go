package lineage

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// conditionEffective is the condition by which a declaring object tells that what
// it declares is enforced.
const conditionEffective = "Effective"

// declare reads the objects that declare edges, once. Where that may only be done
// in one namespace, those of the given one have to do.
func (c *Cluster) declare(ctx context.Context, namespace string) error {
	if c.declared {
		return nil
	}
	c.declared = true
	var kinds []kind
	for _, gk := range c.declarers() {
		if k, ok := c.catalog.Kind(gk); ok {
			kinds = append(kinds, k)
		}
	}
	listed := make([][]*unstructured.Unstructured, len(kinds))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for i, k := range kinds {
		group.Go(func() (err error) {
			listed[i], err = c.listDeclaring(groupCtx, k, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, k := range kinds {
		for _, obj := range listed[i] {
			n := &Node{ID: object.Of(obj, k.GroupKind())}
			n.take(obj)
			c.register([]*Node{n})
			c.hear(k, n)
		}
	}
	return nil
}

// hear takes in what a node declares that was read whole.
func (c *Cluster) hear(k kind, n *Node) {
	edges, err := c.extract(n.full, k.GroupKind())
	if err != nil {
		c.skipped = append(c.skipped, Skipped{
			Group: k.Resource.Group, Resource: k.Resource.Resource, Namespace: n.ID.Namespace,
			Reason: fmt.Sprintf("%s makes no sense: %v", n.ID.Short(), err),
		})
	}
	c.index.Set(n.ID, edges)
}

// hearOne takes in what a node declares whose kind could not be listed.
func (c *Cluster) hearOne(n *Node) {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	if ok && n.full != nil && (c.declares(n) || c.refers(n.ID.GroupKind())) && len(c.index.Declared(n.ID)) == 0 {
		c.hear(k, n)
	}
}

// declares reports whether objects of a node's kind declare edges.
func (c *Cluster) declares(n *Node) bool {
	return slices.Contains(c.declarers(), n.ID.GroupKind())
}

// declarers returns the kinds that declare edges, each once, in the order of
// their relations.
func (c *Cluster) declarers() []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, r := range c.options.Relations {
		if !slices.Contains(kinds, r.Declarer) {
			kinds = append(kinds, r.Declarer)
		}
	}
	return kinds
}

func (c *Cluster) listDeclaring(ctx context.Context, k kind, namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := c.listFull(ctx, k, "")
	if err == nil {
		c.note(k, "", len(objects))
		return objects, nil
	}
	s := Skipped{}
	if apierrors.IsForbidden(err) && k.Namespaced && namespace != "" {
		here, hereErr := c.listFull(ctx, k, namespace)
		if hereErr == nil {
			s.Except = namespace
			c.note(k, namespace, len(here))
			objects = here
		}
	}
	return objects, c.skip(ctx, k, s, err)
}

func (c *Cluster) extract(obj *unstructured.Unstructured, gk schema.GroupKind) ([]relation.Edge, error) {
	var edges []relation.Edge
	for _, r := range c.options.References {
		if r.Declarer == gk {
			edges = append(edges, r.Extract(obj, c.catalog)...)
		}
	}
	if !slices.Contains(c.declarers(), gk) {
		return edges, nil
	}
	typed, err := c.options.Decode(obj)
	if err != nil {
		return edges, err
	}
	for _, r := range c.options.Relations {
		if r.Declarer == gk {
			for _, e := range r.Extract(typed, c.catalog) {
				e.Relation = r.Name // By which its guard is found.
				edges = append(edges, e)
			}
		}
	}
	return edges, nil
}

// members returns the objects that an end of an edge stands for, as far as they
// can be listed.
func (c *Cluster) members(ctx context.Context, ref relation.Ref) ([]*Node, error) {
	if ref.IsZero() {
		return nil, nil
	}
	if ref.Selector == nil {
		return []*Node{c.node(ref.ID)}, nil
	}
	k, ok := c.catalog.Kind(ref.GroupKind())
	if !ok {
		return nil, nil
	}
	if err := c.list(ctx, []kind{k}, ref.Namespace); err != nil {
		return nil, err
	}
	var found []*Node
	for _, n := range c.nodes {
		if n.UID != "" && ref.Matches(n.object()) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, compareNodes)
	return found, nil
}

// sources returns the objects that need an edge's target, with their status. An
// object that took the name of the one meant is not the one meant.
func (c *Cluster) sources(ctx context.Context, e relation.Edge) ([]*Node, error) {
	nodes, err := c.members(ctx, e.Source)
	if err != nil {
		return nil, err
	}
	if e.SourceUID == "" {
		return nodes, nil
	}
	if err := c.fill(ctx, nodes); err != nil {
		return nil, err
	}
	for i, n := range nodes {
		if n.UID != "" && n.UID != e.SourceUID {
			nodes[i] = replaced(n.ID, e.SourceUID)
		}
	}
	return nodes, nil
}

// Force says whether an edge is enforced now, and if not, why.
type Force struct {
	InForce bool   `json:"inForce"`
	Why     string `json:"why,omitempty"`
}

// force says whether an edge to a target is in force now. What its declarer reports is what
// an operator saw last: if the webhook configuration was deleted since, nothing is refused.
// So the target's deletion is tried.
func (c *Cluster) force(ctx context.Context, e relation.Edge, target *Node) (Force, error) {
	force := c.reported(e)
	if e.Role != relation.Usage || !force.InForce {
		return force, nil
	}
	if err := c.fill(ctx, []*Node{target}); err != nil {
		return force, err
	}
	if target.Deleted != nil || target.Status == NotFound {
		return force, nil
	}
	trial, err := c.try(ctx, target)
	switch trial.Outcome {
	case Allowed:
		return Force{Why: notEnforced}, err
	case Untried:
		force.Why = "as reported; not tried: " + trial.Text
	case Refused:
	}
	return force, err
}

// notEnforced is of a protection that its declarer reports to be in force.
const notEnforced = "the API server would delete it now: what refuses deletions, a webhook configuration or a " +
	"policy, is gone or leaves you out"

// reported reads off the object that declares an edge whether it is in force. Only
// protection can be declared and yet not be there.
func (c *Cluster) reported(e relation.Edge) Force {
	if e.Role != relation.Usage {
		return Force{InForce: true}
	}
	conditions := c.node(e.Declarer).Conditions
	for _, name := range []string{conditionEffective, "Ready"} {
		found := meta.FindStatusCondition(conditions, name)
		switch {
		case found == nil:
			continue
		case found.Status == "True":
			return Force{InForce: true}
		}
		// What keeps it from being effective is what keeps it from being ready.
		if ready := meta.FindStatusCondition(conditions, "Ready"); ready != nil && ready.Status != "True" {
			found = ready
		}
		return Force{Why: say(*found)}
	}
	return Force{Why: "no controller has reported on it yet: is the operator running?"}
}
