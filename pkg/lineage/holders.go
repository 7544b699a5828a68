package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// holder is an object that keeps another one by a finalizer, because its fields
// name that one.
type holder struct {
	*Node

	fields []string
}

// guardOf returns the finalizer by which an edge keeps its target; empty if it
// does not.
func (c *Cluster) guardOf(e relation.Edge) string { return c.relationOf(e).Finalizer }

// relationOf returns the relation that an edge is of, or an empty one.
func (c *Cluster) relationOf(e relation.Edge) relation.Relation {
	if r, ok := c.reference(e); ok {
		return r
	}
	i := slices.IndexFunc(c.options.Relations, func(r relation.Relation) bool { return r.Name == e.Relation })
	if i < 0 {
		return relation.Relation{}
	}
	return c.options.Relations[i]
}

// guards returns the kinds whose objects keep others by a finalizer, each once.
func (c *Cluster) guards(finalizer string) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, r := range c.options.Relations {
		if r.Finalizer == finalizer && !slices.Contains(kinds, r.Declarer) {
			kinds = append(kinds, r.Declarer)
		}
	}
	return kinds
}

// asGuard completes what is known of a finalizer by what the relations say of it.
// On the objects of those who guard by it, it may as well be their controller's
// own: it is a guard there if somebody holds them.
func (x *explainer) asGuard(n *Node, f Finalizer, held bool) Finalizer {
	kinds := x.guards(f.Name)
	if len(kinds) == 0 || (!held && slices.Contains(kinds, n.ID.GroupKind())) {
		return f
	}
	names := make([]string, 0, len(kinds))
	for _, gk := range kinds {
		names = append(names, gk.Kind)
	}
	f.Waits, f.When = WaitsForHolders, fmt.Sprintf("no %s needs it any more", strings.Join(names, " or "))
	if f.By == "" {
		f.By = fmt.Sprintf("the controller of %s objects", kinds[0])
	}
	return f
}

// holders returns who keeps an object by a finalizer. Those come first that nobody
// has deleted: they stay unless somebody acts.
func (x *explainer) holders(ctx context.Context, n *Node, finalizer string) ([]holder, error) {
	var found []holder
	for _, e := range x.index.Targeting(n.object()) {
		if finalizer == "" || x.guardOf(e) != finalizer {
			continue
		}
		nodes, err := x.sources(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			i := slices.IndexFunc(found, func(h holder) bool { return h.Node == node })
			if i < 0 {
				i, found = len(found), append(found, holder{Node: node})
			}
			found[i].fields = also(found[i].fields, e.Field)
		}
	}
	slices.SortFunc(found, compareHolders)
	return found, nil
}

func compareHolders(a, b holder) int {
	switch {
	case (a.Deleted == nil) == (b.Deleted == nil):
		return compareNodes(a.Node, b.Node)
	case a.Deleted == nil:
		return -1
	default:
		return 1
	}
}

// allHolders returns who keeps an object by any finalizer that is on it.
func (x *explainer) allHolders(ctx context.Context, n *Node) ([]holder, error) {
	var all []holder
	for _, name := range n.Finalizers {
		found, err := x.holders(ctx, n, name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, compareHolders)
	return all, nil
}

// heldFindings say who keeps a deleted object by a finalizer.
func (x *explainer) heldFindings(ctx context.Context, e *ending, k Finalizer) ([]*Finding, error) {
	n := e.Node
	holders, err := x.holders(ctx, n, k.Name)
	if err != nil {
		return nil, err
	}
	findings := x.unseen(n, k.Name)
	if len(holders) == 0 && len(findings) == 0 {
		return []*Finding{{About: n.ID, Topic: AboutBlocker, Text: "none of them names it any more"}}, nil
	}
	holders, more := few(n.ID, holders)
	for _, h := range holders {
		f := &Finding{About: h.ID, Topic: AboutBlocker, Text: h.says()}
		if h.Deleted == nil {
			f.Next = e.step
		} else {
			f.Text += ", and is being deleted, too"
			f.Because, err = x.follow(ctx, h.Node, x.goes)
		}
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return append(findings, more...), nil
}

// unseen says which kinds could not be seen whose objects may keep a node by a
// finalizer. Where those of its own namespace were, they have to do.
func (x *explainer) unseen(n *Node, finalizer string) []*Finding {
	var findings []*Finding
	for _, gk := range x.guards(finalizer) {
		k, _ := x.catalog.Kind(gk)
		for _, s := range x.skipped {
			if s.Group != gk.Group || s.Resource != k.Resource.Resource || (s.Except != "" && s.Except == n.ID.Namespace) {
				continue
			}
			findings = append(findings, &Finding{
				About: n.ID, Topic: AboutBlocker, Text: fmt.Sprintf("which %s needs it is not known: %s", gk.Kind, s),
				Next: fmt.Sprintf("ask somebody who may list %s which of them needs %s", s.GroupResource(), n.ID),
			})
		}
	}
	return findings
}

// wouldWait says whom the deletion of a node would wait for.
func (x *explainer) wouldWait(ctx context.Context, n *Node) ([]*Finding, error) {
	if n.Deleted != nil {
		return nil, nil
	}
	all, err := x.allHolders(ctx, n)
	if err != nil {
		return nil, err
	}
	step := x.release(all)
	holders, more := few(n.ID, all)
	findings := make([]*Finding, 0, len(holders)+1)
	for _, h := range holders {
		findings = append(findings, &Finding{
			About: h.ID, Topic: AboutProtection, Text: "its deletion would wait: " + h.says(),
			Next: x.toGo(n, h.ID, step),
		})
	}
	return append(findings, more...), nil
}

// says words what a holder does.
func (h holder) says() string {
	return fmt.Sprintf("%s needs it (%s)", h.ID, strings.Join(h.fields, ", "))
}

// release is the step by which those let an object go whom nobody has deleted.
// Those that would be made anew go by way of who makes them.
func (x *explainer) release(holders []holder) string {
	var left []holder
	var ids []object.ID
	var names []string
	for _, h := range holders {
		id := h.ID
		if i := slices.IndexFunc(h.Owners, controls); i >= 0 {
			id = x.ownerID(h.Node, h.Owners[i])
		}
		if h.Deleted == nil && !slices.Contains(ids, id) {
			left, ids, names = append(left, h), append(ids, id), append(names, id.Short())
		}
	}
	switch {
	case len(left) == 0:
		return ""
	case len(left) == 1 && ids[0] != left[0].ID:
		return x.deletion(left[0].Node)
	case len(left) == 1:
		return fmt.Sprintf("delete %s, or have its %s name another object, where that can be changed; "+
			"whoever owns it has to act",
			ids[0], strings.Join(left[0].fields, " and "))
	}
	// The findings name more of them, and in full.
	if most := 3; len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	last := len(names) - 1
	return fmt.Sprintf("delete %s and %s, or have them name another object, where that can be changed; "+
		"whoever owns them has to act", strings.Join(names[:last], ", "), names[last])
}

// keeps says whether an edge keeps its target, for now.
func (c *Cluster) keeps(e relation.Edge, target *Node) Force {
	name := c.guardOf(e)
	_, builtIn := c.reference(e)
	switch {
	case name == "" && builtIn:
		return Force{Why: "it names it, and does not keep it"}
	case name == "":
		return Force{Why: "it waits for it, and does not keep it"}
	case !slices.Contains(target.Finalizers, name):
		return Force{Why: "finalizer " + name + " is not on it"}
	default:
		return Force{InForce: true}
	}
}

// also adds a text to those that are there, unless it is one of them.
func also(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}
