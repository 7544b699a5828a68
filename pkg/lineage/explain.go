package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

const (
	// maxNamed is how many similar objects an [Explanation] names and follows.
	maxNamed = 10
	// maxSteps is how many objects in a row an [Explanation] follows.
	maxSteps = 20
)

// Finding is a fact about an object, and its causes in Because.
type Finding struct {
	About object.ID `json:"about"`
	// Topic is the subject of the [Finding], for programs (JSON).
	Topic Topic  `json:"topic"`
	Text  string `json:"text"`
	// Next is the step that would end the problem, and names who can take the step.
	Next    string     `json:"next,omitempty"`
	Because []*Finding `json:"because,omitempty"`

	enforced bool // a Usage that refuses deletions now
	// removal is the step without the object that can be deleted afterwards, if the object needs the removal of something
	// else before its deletion: "delete Usage/a (ask its owner)".
	removal string
	first   bool // Next deletes nothing, and the steps of other findings need Next
}

// Topic is the subject of a [Finding].
type Topic string

// The topics of findings.
const (
	aboutStatus     Topic = "Status"
	aboutCondition  Topic = "Condition"
	aboutFinalizer  Topic = "Finalizer"
	aboutProtection Topic = "Protection"
	aboutOwner      Topic = "Owner"
	aboutOwned      Topic = "Owned"
	aboutReference  Topic = "Reference"
	aboutDependency Topic = "Dependency"
	aboutCircle     Topic = "Circle"
	aboutBlocker    Topic = "Blocker"
	aboutMore       Topic = "More"
)

// Explanation is the answer of [Cluster.Explain].
type Explanation struct {
	Node     *Node
	Findings []*Finding
	// Next is the step to take next.
	Next    string
	Skipped []Skipped
}

// Explain returns why an object that [Cluster.Find] found is not ready or still exists.
// Explain follows the objects that the object waits for.
func (c *Cluster) Explain(ctx context.Context, n *Node) (*Explanation, error) {
	c.readDeclarations(ctx, n.ID.Namespace)
	c.declareOnce(n)
	x := explainer{Cluster: c, walk: graph.NewWalk(n, maxSteps), waits: graph.New(object.Compare)}
	findings := x.stateFindings(ctx, n)
	x.readReferrers(ctx, []*Node{n}, func(rule) bool { return true })
	protections := x.protectionFindings(ctx, n)
	e := &Explanation{Node: n, Findings: slices.Concat(
		findings, protections, x.lockFindings(ctx, n, protections), x.holderFindings(ctx, n), x.referrerFindings(n),
	)}
	e.Next = nextStep(e.Findings)
	if removals := removalsOf(e.Findings, e.Next); len(removals) > 1 {
		e.Next = x.stepToDelete(n, strings.Join(removals, ", and "))
	}
	if e.Next == "" {
		e.Next = nothingToDo(n, c.trials.Get(n))
	}
	e.Skipped = c.skippedFor(n)
	return e, contextError(ctx, n.ID)
}

// nextStep returns the step of the first urgent finding, or else the step at the root of
// the first finding with a step. For example, a deleted Secret with cloud credentials has
// to be created again before the Ports that need the Secret can be deleted.
func nextStep(findings []*Finding) string {
	urgent := func(f *Finding) bool { return f.first }
	return cmp.Or(rootStep(findings, urgent), rootStep(findings, func(*Finding) bool { return true }))
}

// rootStep returns the first step of an accepted finding. The steps of Because come
// before the step of the finding itself.
func rootStep(findings []*Finding, accept func(*Finding) bool) string {
	for _, f := range findings {
		if step := rootStep(f.Because, accept); step != "" {
			return step
		}
		if f.Next != "" && accept(f) {
			return f.Next
		}
	}
	return ""
}

// maxRemovals is how many removals [Explanation.Next] names.
const maxRemovals = 5

// removalsOf returns everything that has to be removed before an object can be deleted, if the next step is one of
// these removals, and each removal once.
func removalsOf(findings []*Finding, next string) []string {
	var all []string
	isNext := false
	for _, f := range findings {
		if f.removal == "" {
			continue
		}
		isNext = isNext || f.Next == next
		if !slices.Contains(all, f.removal) {
			all = append(all, f.removal)
		}
	}
	if !isNext {
		return nil
	}
	if more := len(all) - maxRemovals; more > 0 {
		all = append(all[:maxRemovals], fmt.Sprintf("remove %d more that are listed above", more))
	}
	return all
}

// nothingToDo returns [Explanation.Next] where no finding has a step.
func nothingToDo(n *Node, trial Trial) string {
	switch {
	case n.Status != Current:
		return fmt.Sprintf("read the log of the controller of %s objects: the object tells no more", n.ID.GroupKind())
	case trial.Outcome == Allowed:
		return fmt.Sprintf("nothing to do: %s is as its spec asks, and its deletion would be allowed now", n.ID)
	}
	return fmt.Sprintf("nothing to do: %s is as its spec asks, and nothing visible refuses its deletion, "+
		"which was not tried: %s", n.ID, trial.Text)
}

// explainer follows objects for an [Explanation], each object once.
type explainer struct {
	*Cluster

	walk  *graph.Walk[*Node]
	waits *graph.Graph[object.ID] // the waits that findings name
}

// stateFindings returns why a [Node] is not ready, or why a deleted node still exists.
func (x *explainer) stateFindings(ctx context.Context, n *Node) []*Finding {
	switch {
	case n.Deleted != nil:
		return x.terminatingFindings(ctx, n)
	case x.isUsage(n):
		return append(x.declarationFindings(ctx, n), conditionFindings(n, n.Conditions)...)
	}
	owners := x.ownerFindings(ctx, n)
	if n.Status != InProgress && n.Status != Failed && !x.isUnreported(n) {
		return append(owners, conditionFindings(n, onlyDrifted(n.Conditions))...)
	}
	return append(x.unreadyFindings(ctx, n), owners...)
}

// follow returns the findings of tell for a [Node], unless an earlier finding followed the
// node or the walk is at maxSteps.
func (x *explainer) follow(
	ctx context.Context, n *Node, tell func(context.Context, *Node) []*Finding,
) (findings []*Finding) {
	x.walk.Enter(n, func() { findings = tell(ctx, n) })
	return findings
}

// deletionFindings returns why a [Node] that has to be deleted still exists.
func (x *explainer) deletionFindings(ctx context.Context, n *Node) []*Finding {
	if n.Deleted != nil {
		return x.terminatingFindings(ctx, n)
	}
	return x.protectionFindings(ctx, n)
}

// findEach returns the finding of each item, for at most maxNamed items, and counts the
// other items. A nil finding is left out.
func findEach[T any](about object.ID, items []T, find func(T) *Finding) []*Finding {
	findings := make([]*Finding, 0, len(items))
	for _, item := range items[:min(len(items), maxNamed)] {
		if f := find(item); f != nil {
			findings = append(findings, f)
		}
	}
	if more := len(items) - maxNamed; more > 0 {
		findings = append(findings, &Finding{About: about, Topic: aboutMore, Text: fmt.Sprintf("and %d more", more)})
	}
	return findings
}

// readFirst reads the status of the nodes that findEach names.
func (x *explainer) readFirst(ctx context.Context, nodes []*Node) {
	x.readStatus(ctx, nodes[:min(len(nodes), maxNamed)]...)
}

// joinIDs returns the IDs of the first maxNamed nodes as text, and counts the others.
func joinIDs(nodes []*Node) string {
	named := findEach(object.ID{}, nodes, func(n *Node) *Finding { return &Finding{Text: n.ID.String()} })
	return strings.Join(lists.Map(named, func(f *Finding) string { return f.Text }), ", ")
}

// ownerFindings returns whether the owners of a [Node] are deleted or being deleted, so
// that the garbage collector deletes the node.
func (x *explainer) ownerFindings(ctx context.Context, n *Node) []*Finding {
	owners := x.owners(n)
	x.readFirst(ctx, owners)
	if x.isOrphaned(n) {
		return []*Finding{{
			About: n.ID, Topic: aboutOwner,
			Text: "all its owners are gone, so the garbage collector tries to delete it: " + joinIDs(x.owners(n)),
		}}
	}
	return findEach(n.ID, owners, func(owner *Node) *Finding {
		if owner.Deleted == nil {
			return nil
		}
		return &Finding{About: owner.ID, Topic: aboutOwner, Text: fmt.Sprintf("owner %s is being deleted", owner.ID)}
	})
}

// isOrphaned reports whether a [Node] has owner references, and none of the owners exists.
func (x *explainer) isOrphaned(n *Node) bool {
	owners := x.owners(n)
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(owner *Node) bool { return owner.Status != NotFound })
}

// deleteStep returns the step that deletes a [Node]. A node with a controller would be
// created again, such as a Pod of a ReplicaSet, so the step deletes the controller.
func (x *explainer) deleteStep(n *Node) string {
	if controller, _, ok := x.controller(n); ok {
		return fmt.Sprintf("delete %s (ask its owner), which controls %s and would create it again", controller, n.ID)
	}
	return fmt.Sprintf("delete %s (ask its owner)", n.ID)
}

// stepToDelete returns a step that is needed before a [Node] can be deleted. If no user and
// no controller wants to delete the node, the step is optional.
func (x *explainer) stepToDelete(n *Node, step string) string {
	switch {
	case n.Deleted != nil || x.walk.Depth() > 0:
		return step
	case n.Status == Current && !x.isOrphaned(n):
		return onlyToDelete(n, step)
	}
	return fmt.Sprintf("%s; then %s can be deleted", step, n.ID)
}
