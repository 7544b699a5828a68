package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// holders returns the objects that keep a [Node] by finalizers, because their fields name
// the node: Port/web keeps Network/net by openstack.k-orc.cloud/port. Objects that are not
// being deleted come first: the node waits for a user to act on these objects.
func (x *explainer) holders(ctx context.Context, n *Node, finalizers ...string) []neighbour {
	edges := slices.DeleteFunc(x.index.Targeting(n.object()), func(e relation.Edge) bool {
		finalizer := x.rules.of(e).Finalizer
		return finalizer == "" || !slices.Contains(finalizers, finalizer)
	})
	found := neighbours(edges, func(e relation.Edge) []*Node { return x.sources(ctx, e) })
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(lastIf(a.Deleted != nil)-lastIf(b.Deleted != nil), compareNodes(a.Node, b.Node))
	})
	return found
}

// lastIf returns the rank of an item in an order with some items last.
func lastIf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// holdingFindings returns the objects that keep a deleted node by a finalizer.
func (x *explainer) holdingFindings(ctx context.Context, d *deletion, finalizer string) []*Finding {
	holders := x.holders(ctx, d.Node, finalizer)
	unlisted := x.unlistedFindings(d.Node, finalizer)
	if len(holders) == 0 && len(unlisted) == 0 {
		return []*Finding{{About: d.ID, Topic: aboutBlocker, Text: "no object refers to it any more"}}
	}
	return append(unlisted, findEach(d.ID, holders, func(h neighbour) *Finding {
		f := &Finding{About: h.ID, Topic: aboutBlocker, Text: refersToIt(h)}
		if h.Deleted == nil {
			f.Next = d.step
			return f
		}
		f.Text += ", and is being deleted too"
		f.Because = x.follow(ctx, h.Node, x.deletionFindings)
		return f
	})...)
}

// unlistedFindings returns the kinds that could not be listed and whose objects can keep
// a [Node] by a finalizer. A kind that was listed in the node's namespace is left out.
func (x *explainer) unlistedFindings(n *Node, finalizer string) []*Finding {
	var findings []*Finding
	for _, gk := range x.rules.holdingBy(finalizer).declarers() {
		for _, s := range x.skippedOf(gk) {
			if s.Resource == "*" || (s.Except != "" && s.Except == n.ID.Namespace) {
				continue
			}
			findings = append(findings, &Finding{
				About: n.ID, Topic: aboutBlocker, Text: fmt.Sprintf("whether a %s refers to it is unknown: %s", gk.Kind, s),
				Next: fmt.Sprintf("ask a user who may list %s which of them refer to %s", s.GroupResource(), n.ID),
			})
		}
	}
	return findings
}

// holderFindings returns the objects for which the deletion of a [Node] would wait.
func (x *explainer) holderFindings(ctx context.Context, n *Node) []*Finding {
	if n.Deleted != nil {
		return nil
	}
	holders := x.holders(ctx, n, n.Finalizers...)
	step := x.releaseStep(holders)
	return findEach(n.ID, holders, func(h neighbour) *Finding {
		return &Finding{
			About: h.ID, Topic: aboutProtection, Text: "its deletion would wait: " + refersToIt(h),
			Next: x.stepToDelete(n, step), removal: step,
		}
	})
}

// referrerFindings returns the objects whose references to a [Node] do not keep the node.
func (x *explainer) referrerFindings(n *Node) []*Finding {
	if n.Deleted != nil || n.Status == NotFound {
		return nil
	}
	edges, made := x.collapse(x.index.Targeting(n.object()))
	edges = slices.DeleteFunc(edges, func(e relation.Edge) bool {
		r := x.rules.of(e)
		return !r.builtIn || (r.Finalizer != "" && slices.Contains(n.Finalizers, r.Finalizer))
	})
	return findEach(n.ID, edges, func(e relation.Edge) *Finding {
		text := fmt.Sprintf("%s refers to it (%s)", e.Source.ID, e.Field)
		switch count := made[e.Source.ID]; {
		case count == 1:
			text += ", as does 1 object that it created"
		case count > 1:
			text += fmt.Sprintf(", as do %d objects that it created", count)
		}
		return &Finding{
			About: e.Source.ID, Topic: aboutReference, Text: text + "; this does not prevent its deletion",
		}
	})
}

func refersToIt(h neighbour) string {
	return fmt.Sprintf("%s refers to it (%s)", h.ID, strings.Join(h.fields(), ", "))
}

// releaseStep returns the step after which no holder keeps a [Node]. Holders that are being
// deleted need no step. A holder with a controller is deleted by deletion of the controller.
func (x *explainer) releaseStep(holders []neighbour) string {
	var left []neighbour
	var ids []object.ID
	for _, h := range holders {
		id := h.ID
		if controller, _, ok := x.controller(h.Node); ok {
			id = controller
		}
		if h.Deleted == nil && !slices.Contains(ids, id) {
			left, ids = append(left, h), append(ids, id)
		}
	}
	switch {
	case len(left) == 0:
		return ""
	case len(left) == 1 && ids[0] != left[0].ID:
		return x.deleteStep(left[0].Node)
	case len(left) == 1:
		return fmt.Sprintf("delete %s, or change its %s, if that can be changed (ask its owner)",
			ids[0], strings.Join(left[0].fields(), " and "))
	}
	return fmt.Sprintf("delete %s, or change their references, if these can be changed (ask their owners)",
		shortNames(ids))
}

// shortNames names up to 3 objects without group and namespace, and counts the others.
// The findings have the full names.
func shortNames(ids []object.ID) string {
	const most = 3
	names := lists.Map(ids, object.ID.Short)
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
