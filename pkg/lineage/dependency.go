package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// dependency is an object that the fields of another object name: Secret/db for Pod/web.
type dependency struct {
	neighbour

	// guarded is true if a Relation.Finalizer keeps the target while the source refers to it.
	guarded bool
	// optional is true if the source is created without the target (Relation.Later).
	optional bool
	// credentials is true for a guarded Secret: without the Secret the source can't delete
	// its resource in the cloud.
	credentials bool
	// builtIn is true for a field of Kubernetes' own kinds.
	builtIn bool
}

// dependencies returns the objects that the fields of a [Node] name (relation.Dependency and relation.Owner), each
// once.
func (x *explainer) dependencies(ctx context.Context, n *Node) []dependency {
	x.declareOnce(n)
	edges := x.index.From(n.object())
	edges = slices.DeleteFunc(edges, func(e relation.Edge) bool { return e.Role != relation.Dependency })
	edges = append(edges, x.ownerEdges(n)...)
	targets := neighbours(edges, func(e relation.Edge) []*Node { return x.members(ctx, e.Target) })
	return lists.Map(targets, func(target neighbour) dependency {
		d := dependency{neighbour: target, optional: true}
		for _, e := range target.edges {
			r := x.rules.of(e)
			d.guarded = d.guarded || r.Finalizer != ""
			d.optional = d.optional && r.Later
			d.builtIn = d.builtIn || r.builtIn
		}
		d.credentials = d.guarded && target.ID.GroupKind() == secretKind
		x.readStatus(ctx, target.Node)
		return d
	})
}

// isWaitedFor reports whether a [Node] waits for a dependency.
func (x *explainer) isWaitedFor(n *Node, d dependency) bool {
	switch {
	case d.builtIn:
		return isRequired(n, d) || isNamedInConditions(n, d)
	case d.Deleted == nil && x.isUsable(d.Node):
		return false
	case d.guarded && n.Deleted == nil && d.Deleted == nil && d.Status != Unknown:
		return true
	case d.credentials && d.Status == NotFound:
		return true
	}
	// An existing object may no longer need the dependency (Relation.Once). The conditions
	// of the object decide, once the controller has reported conditions.
	return (!hasReported(n) && !d.optional) || isNamedInConditions(n, d)
}

// isUsable reports whether other objects can use a [Node].
func (x *explainer) isUsable(n *Node) bool {
	return (n.Status == Current && !x.isUnreported(n)) || meta.IsStatusConditionTrue(n.Conditions, condition.Available)
}

// isRequired reports whether a [Node] of Kubernetes' own kinds can't proceed without a
// dependency. For example a Pod starts when its Secret exists and its claim is bound.
func isRequired(n *Node, d dependency) bool {
	return (d.Status == NotFound || d.Status == InProgress) && !d.optional && n.Deleted == nil
}

// isNamedInConditions reports whether a condition of a [Node] names a dependency that is not ready.
func isNamedInConditions(n *Node, d dependency) bool {
	return d.Status != Current && slices.ContainsFunc(n.Conditions, func(c metav1.Condition) bool {
		return namesObject(c.Message, d.ID)
	})
}

// hasReported reports whether a condition of a [Node] is about the current generation.
func hasReported(n *Node) bool {
	return n.full != nil && slices.ContainsFunc(n.Conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration == 0 || c.ObservedGeneration == n.full.GetGeneration()
	})
}

// dependencyFindings returns the dependencies that a [Node] waits for, and their IDs. A
// dependency that an earlier finding followed is named once more without its causes.
func (x *explainer) dependencyFindings(ctx context.Context, n *Node) (findings []*Finding, told []object.ID) {
	waits := slices.DeleteFunc(x.dependencies(ctx, n), func(d dependency) bool { return !x.isWaitedFor(n, d) })
	for _, d := range waits {
		told = append(told, d.ID)
	}
	var again []*Node
	findings = findEach(n.ID, waits, func(d dependency) *Finding {
		circle := graph.Path(d.ID, n.ID, x.waits.Dependencies)
		x.waits.AddEdge(n.ID, d.ID)
		if circle == nil && x.walk.Visited(d.Node) {
			again = append(again, d.Node)
			return nil
		}
		return x.dependencyFinding(ctx, n, d, circle)
	})
	if len(again) > 0 {
		f := &Finding{About: n.ID, Topic: aboutMore, Text: alsoWaits + joinIDs(again)}
		at := len(findings)
		if len(waits) > maxNamed {
			at-- // before "and 2 more"
		}
		findings = slices.Insert(findings, at, f)
	}
	return findings, told
}

const alsoWaits = "also waits for "

// dependencyFinding describes a dependency that a [Node] waits for. The circle leads from
// the dependency to the node, if the dependency waits for the node.
func (x *explainer) dependencyFinding(ctx context.Context, n *Node, d dependency, circle []object.ID) *Finding {
	fields := d.fields()
	f := &Finding{
		About: d.ID, Topic: aboutDependency,
		Text: fmt.Sprintf("waits for %s (%s)", d.ID, strings.Join(fields, ", ")),
	}
	place := fmt.Sprintf("%s of %s", strings.Join(fields, " and "), n.ID)
	switch {
	case circle != nil:
		f.Topic = aboutCircle
		cycle := &graph.CycleError[object.ID]{Path: circle, Format: object.ID.Short} // Tie/b -> Tie/c -> Tie/b
		f.Text += ", and so they wait for each other in a circle: " + cycle.String()
		f.Next = fmt.Sprintf("break the circle: remove %s from %s, at least until %s is ready (ask its owner)",
			d.ID.Short(), place, n.ID.Short())
	case d.Status == NotFound:
		x.walk.Mark(d.Node)
		f.Text += ", which does not exist"
		f.Next = fmt.Sprintf("create %s, or change %s (ask its owner)", d.ID, place)
		if d.unserved {
			f.Text += ", as the cluster does not serve its kind"
			f.Next = fmt.Sprintf("install the kind %s, and %s", d.ID.GroupKind(), f.Next)
		}
		f.first = d.credentials
	case d.Status == Unknown:
		x.walk.Mark(d.Node)
		f.Text += ", whose status is unknown: " + d.Message
		f.Next = fmt.Sprintf("ask a user who may read %s whether it exists and is ready for %s", d.ID, n.ID)
	case d.Deleted != nil:
		f.Text += ", which is being deleted"
		f.Next = fmt.Sprintf("create %s again once it is gone", d.ID)
		f.Because = x.follow(ctx, d.Node, x.terminatingFindings)
	case x.walk.AtLimit():
		f.Text += fmt.Sprintf(", which is %s; its causes are not followed from here", d.Status)
		f.Next = fmt.Sprintf("run kinship why for %s", d.ID)
	default:
		f.Because = x.follow(ctx, d.Node, x.unreadyFindings)
		f.Text += ", which is not ready"
		if len(f.Because) == 1 && f.Because[0].Topic == aboutMore {
			f.Text = strings.TrimSuffix(f.Text, "is not ready") + f.Because[0].Text
			f.Because = nil
		}
	}
	return f
}
