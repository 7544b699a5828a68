package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
	// maxNamed is how many objects of a sort an explanation names and follows.
	maxNamed = 10
	// maxSteps is how far an explanation follows one object to the next.
	maxSteps = 20
)

// Finding is one thing that is known about an object, and what is behind it.
type Finding struct {
	About object.ID `json:"about"`
	// Topic is what it is about, for programs.
	Topic Topic  `json:"topic"`
	Text  string `json:"text"`
	// Next is the step that would end it, and who is to take it.
	Next    string     `json:"next,omitempty"`
	Because []*Finding `json:"because,omitempty"`

	enforced bool // a protection in force
	first    bool // Next deletes nothing, and other steps need it
}

// Topic sorts findings.
type Topic string

// The topics of findings.
const (
	AboutStatus     Topic = "Status"
	AboutCondition  Topic = "Condition"
	AboutFinalizer  Topic = "Finalizer"
	AboutProtection Topic = "Protection"
	AboutOwner      Topic = "Owner"
	AboutOwned      Topic = "Owned"
	AboutReference  Topic = "Reference"
	AboutDependency Topic = "Dependency"
	AboutCircle     Topic = "Circle"
	AboutBlocker    Topic = "Blocker"
	AboutMore       Topic = "More"
)

// Explanation says why an object is as it is.
type Explanation struct {
	Node     *Node
	Findings []*Finding
	// Next is the one step to take next, and by whom.
	Next    string
	Skipped []Skipped
}

// Explain says why an object that [Cluster.Find] found is not ready, or still
// there, and follows what it waits for to the root.
func (c *Cluster) Explain(ctx context.Context, n *Node) (*Explanation, error) {
	if err := c.declare(ctx, n.ID.Namespace); err != nil {
		return nil, err
	}
	c.hearOne(n)
	x := explainer{Cluster: c, seen: map[*Node]bool{n: true}}
	findings, err := x.state(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := x.refer(ctx, n); err != nil {
		return nil, err
	}
	protections, err := x.protections(ctx, n)
	if err != nil {
		return nil, err
	}
	locked, err := x.locked(ctx, n, protections)
	if err != nil {
		return nil, err
	}
	waits, err := x.wouldWait(ctx, n)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Node: n, Findings: slices.Concat(findings, protections, locked, waits, x.missedBy(n))}
	e.Next = next(e.Findings)
	if e.Next == "" {
		e.Next = x.nothing(n)
	}
	e.Skipped = c.Skipped()
	return e, nil
}

// next returns the step to take first: one that deletes nothing and without which other steps
// lead nowhere, else the step at the root of the first finding that has one. For example a
// Secret with credentials is created anew before objects are deleted that need it for that.
func next(findings []*Finding) string {
	if f := urgent(findings); f != nil {
		return f.Next
	}
	return firstStep(findings)
}

// urgent returns the first finding whose step comes before all others, or nil.
func urgent(findings []*Finding) *Finding {
	for _, f := range findings {
		if f.first && f.Next != "" {
			return f
		}
		if behind := urgent(f.Because); behind != nil {
			return behind
		}
	}
	return nil
}

func firstStep(findings []*Finding) string {
	for _, f := range findings {
		if step := firstStep(f.Because); step != "" {
			return step
		}
		if f.Next != "" {
			return f.Next
		}
	}
	return ""
}

// nothing is the next step where nothing was found.
func (x *explainer) nothing(n *Node) string {
	if n.Status != Current {
		return fmt.Sprintf("see what the controller of %s objects logs: nothing here tells more", n.ID.GroupKind())
	}
	deletion := "nothing refuses its deletion now"
	if trial := x.trials[n]; trial.Outcome != Allowed {
		deletion = "nothing that could be seen refuses its deletion, which was not tried: " + trial.Text
	}
	return fmt.Sprintf("nothing to do: %s is as its spec asks for, and %s", n.ID, deletion)
}

// explainer follows objects, none of them twice.
type explainer struct {
	*Cluster

	seen map[*Node]bool
	step int
	path []*Node // of those that wait for each other, to where we are
}

// state says why a node is not ready, or why it is still there.
func (x *explainer) state(ctx context.Context, n *Node) ([]*Finding, error) {
	switch {
	case n.Deleted != nil:
		return x.terminating(ctx, n)
	case x.protects(n):
		findings, err := x.ends(ctx, n)
		return append(findings, conditionFindings(n)...), err
	}
	findings, err := x.abandoned(ctx, n)
	if err != nil || (n.Status != InProgress && n.Status != Failed && !x.unreported(n)) {
		return append(findings, conditionFindings(drifted(n))...), err
	}
	unready, err := x.unready(ctx, n)
	return append(unready, findings...), err
}

// follow says what is behind a node that another one waits for. What was told
// before is not told again.
func (x *explainer) follow(ctx context.Context, n *Node, tell func(context.Context, *Node) ([]*Finding, error),
) ([]*Finding, error) {
	if x.seen[n] || x.step >= maxSteps {
		return nil, nil
	}
	x.seen[n] = true
	x.step++
	defer func() { x.step-- }()
	return tell(ctx, n)
}

// goes says why a node is still there that ought to go.
func (x *explainer) goes(ctx context.Context, n *Node) ([]*Finding, error) {
	if n.Deleted != nil {
		return x.terminating(ctx, n)
	}
	return x.protections(ctx, n)
}

// few cuts a list at what is named, and says how many were left out.
func few[T any](about object.ID, items []T) ([]T, []*Finding) {
	if len(items) <= maxNamed {
		return items, nil
	}
	text := fmt.Sprintf("and %d more", len(items)-maxNamed)
	return items[:maxNamed], []*Finding{{About: about, Topic: AboutMore, Text: text}}
}

// protections says what refuses a node's deletion, and what was meant to but does
// not.
func (x *explainer) protections(ctx context.Context, n *Node) ([]*Finding, error) {
	var findings, void []*Finding
	for _, e := range x.index.Targeting(n.object()) {
		if e.Role != relation.Usage {
			continue
		}
		force, err := x.force(ctx, e, n)
		if err != nil {
			return nil, err
		}
		if !force.InForce {
			f := &Finding{
				About: e.Declarer, Topic: AboutProtection,
				Text: fmt.Sprintf("%s does not protect it: %s", e.Declarer, force.Why),
			}
			if n.Deleted == nil && x.step == 0 && e.Content == nil {
				f.Next = fmt.Sprintf("nothing, unless it is to be protected: then see why %s is not in force", e.Declarer)
			}
			void = append(void, f)
			continue
		}
		found, err := x.protection(ctx, n, e, force)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			f.enforced = true
		}
		findings = append(findings, found...)
	}
	return append(findings, void...), nil
}

// protection says who is behind a protection that is in force.
func (x *explainer) protection(ctx context.Context, n *Node, e relation.Edge, force Force) ([]*Finding, error) {
	what := "its deletion is refused"
	if force.Why != "" {
		what += " (" + force.Why + ")"
	}
	if e.Content != nil {
		what += fmt.Sprintf(", because it holds %s", e.Content)
	}
	users, err := x.sources(ctx, e)
	if err != nil {
		return nil, err
	}
	if len(users) == 0 {
		reason := x.reason(e.Declarer)
		if reason == "" {
			reason = "no reason given"
		}
		return []*Finding{{
			About: e.Declarer, Topic: AboutProtection,
			Text: fmt.Sprintf("%s: %s protects it: %q", what, e.Declarer, reason),
			Next: x.toGo(n, e.Declarer, "if the protection is no longer wanted, "+x.deletion(x.node(e.Declarer))),
		}}, nil
	}
	users, more := few(e.Declarer, users)
	if err := x.fill(ctx, users); err != nil {
		return nil, err
	}
	findings := make([]*Finding, 0, len(users)+1)
	for _, user := range users {
		f := &Finding{
			About: user.ID, Topic: AboutProtection,
			Text: fmt.Sprintf("%s: %s uses it (%s)", what, user.ID, e.Declarer),
		}
		switch {
		case user.Status == NotFound:
			f.Text += ", although that one is gone"
			f.Next = fmt.Sprintf("see that the operator runs: it ends %s by itself when %s is gone", e.Declarer, user.ID)
		case user.Deleted != nil:
			f.Text += ", and is being deleted"
			f.Next = fmt.Sprintf("wait until %s is gone", user.ID)
			f.Because, err = x.follow(ctx, user, x.goes)
		default:
			f.Next = x.toGo(n, user.ID, x.deletion(user))
		}
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return append(findings, more...), nil
}

// toGo words the step that lets a node go. As long as nobody wants it to, that
// step is an option.
func (x *explainer) toGo(n *Node, blocker object.ID, step string) string {
	if n.Deleted != nil || x.step > 0 {
		return step
	}
	if n.Status == Current && !x.unowned(n) {
		return fmt.Sprintf("nothing, unless %s is to go: then %s", n.ID, step)
	}
	return fmt.Sprintf("to let %s go, end what %s does with it: %s", n.ID, blocker, step)
}

// deletion says how to delete an object, and who has to.
func (x *explainer) deletion(n *Node) string {
	for _, o := range n.Owners {
		if controls(o) {
			return fmt.Sprintf("delete %s by way of %s, which controls it and would make it anew; whoever owns that has to act",
				n.ID, x.ownerID(n, o))
		}
	}
	return fmt.Sprintf("delete %s; whoever owns it has to act", n.ID)
}

// unowned reports whether all owners of a node were read and are gone.
func (x *explainer) unowned(n *Node) bool {
	for _, owner := range x.owners(n) {
		if owner.Status != NotFound {
			return false
		}
	}
	return len(n.Owners) > 0
}

// abandoned says that a node's owners are gone or going, so that the garbage
// collector wants to delete it.
func (x *explainer) abandoned(ctx context.Context, n *Node) ([]*Finding, error) {
	owners, _ := few(n.ID, x.owners(n))
	if err := x.fill(ctx, owners); err != nil {
		return nil, err
	}
	if x.unowned(n) {
		return []*Finding{{
			About: n.ID, Topic: AboutOwner,
			Text: "all its owners are gone, so the garbage collector tries to delete it: " + list(idsOf(x.owners(n))),
		}}, nil
	}
	var findings []*Finding
	for _, owner := range owners {
		if owner.Deleted != nil {
			findings = append(findings, &Finding{
				About: owner.ID, Topic: AboutOwner, Text: fmt.Sprintf("its owner %s is being deleted", owner.ID),
			})
		}
	}
	return findings, nil
}

// ends says of a node that declares edges what it is about and whether that
// exists, and whether anybody has taken note.
func (x *explainer) ends(ctx context.Context, n *Node) ([]*Finding, error) {
	var findings []*Finding
	for _, e := range x.index.Declared(n.ID) {
		if e.Content != nil || isEnd(e, n.ID) {
			continue
		}
		for _, end := range []struct {
			relation.Ref
			text string
		}{{e.Target, "it protects %s"}, {e.Source, "it does so for %s"}} {
			if end.IsZero() {
				continue
			}
			f, err := x.end(ctx, n, end.Ref, end.text)
			if err != nil {
				return nil, err
			}
			findings = append(findings, f)
		}
	}
	if x.unreported(n) {
		findings = append(findings, silence(n))
	}
	return findings, nil
}

// silence says that a node has no conditions.
func silence(n *Node) *Finding {
	return &Finding{
		About: n.ID, Topic: AboutStatus, Text: "no controller has reported on it yet",
		Next: "start the operator, or see why it does not work: kinship operator; a cluster administrator has to act",
	}
}

// protects reports whether a node is of a kind whose objects protect others.
func (x *explainer) protects(n *Node) bool {
	return slices.ContainsFunc(x.options.Relations, func(r relation.Relation) bool {
		return r.Role == relation.Usage && r.Declarer == n.ID.GroupKind()
	})
}

func (x *explainer) end(ctx context.Context, n *Node, ref relation.Ref, text string) (*Finding, error) {
	f := &Finding{About: ref.ID, Topic: AboutReference, Text: fmt.Sprintf(text, ref)}
	nodes, err := x.members(ctx, ref)
	if err != nil {
		return nil, err
	}
	nodes, more := few(ref.ID, nodes)
	if err := x.fill(ctx, nodes); err != nil {
		return nil, err
	}
	exist := false
	for _, node := range nodes {
		exist = exist || node.Status != NotFound
		if ref.Selector != nil {
			f.Because = append(f.Because, &Finding{About: node.ID, Topic: AboutReference, Text: node.ID.String()})
		}
	}
	f.Because = append(f.Because, more...)
	if !exist {
		f.Text += ", which does not exist"
		f.Next = fmt.Sprintf("create %s, or delete %s; whoever made the latter has to act", ref, n.ID)
	}
	return f, nil
}

// idsOf returns the IDs of nodes.
func idsOf(nodes []*Node) []object.ID {
	ids := make([]object.ID, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// list names objects.
func list(ids []object.ID) string {
	few, more := few(object.ID{}, ids)
	texts := make([]string, 0, len(few)+1)
	for _, id := range few {
		texts = append(texts, id.String())
	}
	for _, f := range more {
		texts = append(texts, f.Text)
	}
	return strings.Join(texts, ", ")
}

// drifted returns a node that only tells what of it somebody changed: it serves all the
// same.
func drifted(n *Node) *Node {
	told := *n
	told.Conditions = slices.DeleteFunc(slices.Clone(n.Conditions), func(c metav1.Condition) bool {
		return c.Type != conditionDrifted
	})
	return &told
}

// bad reports whether a condition says that something is not as it should be.
// Most conditions are good when true; these few are good when not.
func bad(c metav1.Condition) bool {
	switch c.Type {
	case "Stalled", "Reconciling", "Failed", "FailureTarget", "ReplicaFailure", "Degraded", "DisruptionTarget",
		"NetworkUnavailable", "Terminating", "NonStructuralSchema", conditionDrifted:
		return c.Status == metav1.ConditionTrue
	case "Suspended":
		return false
	case condition.Progressing:
		if slices.Contains(externalReasons, c.Reason) { // True is what a resource waits for.
			return c.Reason != condition.ReasonSuccess
		}
	}
	// What a namespace tells of its deletion, and a node of its resources.
	if strings.HasPrefix(c.Type, "Namespace") || strings.HasSuffix(c.Type, "Pressure") {
		return c.Status == metav1.ConditionTrue
	}
	return c.Status != metav1.ConditionTrue
}
