package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// protectionFindings returns the Usages that refuse the deletion of a [Node], and then the
// Usages that should refuse and are not in force.
func (x *explainer) protectionFindings(ctx context.Context, n *Node) []*Finding {
	var findings, void []*Finding
	for _, e := range x.index.Targeting(n.object()) {
		if e.Role != relation.Usage {
			continue
		}
		if force := x.force(ctx, e, n); force.InForce {
			findings = append(findings, x.enforcedFindings(ctx, n, e, force)...)
		} else {
			void = append(void, x.voidFinding(n, e, force))
		}
	}
	return append(findings, void...)
}

// voidFinding describes a Usage that is not in force.
func (x *explainer) voidFinding(n *Node, e relation.Edge, force Force) *Finding {
	f := &Finding{
		About: e.Declarer, Topic: aboutProtection,
		Text: fmt.Sprintf("%s does not protect it: %s", e.Declarer, force.Why),
	}
	if n.Deleted == nil && x.walk.Depth() == 0 && e.Content == nil {
		f.Next = fmt.Sprintf("nothing to do, unless %s needs protection: then find out why %s is not in force",
			n.ID.Short(), e.Declarer)
	}
	return f
}

// enforcedFindings describes a Usage that is in force: one finding for each user, or one
// with the reason of the Usage.
func (x *explainer) enforcedFindings(ctx context.Context, n *Node, e relation.Edge, force Force) []*Finding {
	text := "its deletion is refused"
	if force.Why != "" {
		text += " (" + force.Why + ")"
	}
	if e.Content != nil {
		text += fmt.Sprintf(", because it holds %s", e.Content)
	}
	users := x.sources(ctx, e)
	x.readFirst(ctx, users)
	findings := findEach(e.Declarer, users, func(user *Node) *Finding {
		return x.userFinding(ctx, n, user, e, text)
	})
	if len(users) == 0 {
		reason := cmp.Or(x.node(e.Declarer).text("spec", "reason"), "no reason given")
		removal := fmt.Sprintf("delete %s (ask its owner whether it is still needed)", e.Declarer)
		findings = append(findings, &Finding{
			About: e.Declarer, Topic: aboutProtection,
			Text: fmt.Sprintf("%s: %s protects it: %q", text, e.Declarer, reason),
			Next: x.stepToDelete(n, removal), removal: removal,
		})
	}
	for _, f := range findings {
		f.enforced = true
	}
	return findings
}

// userFinding describes a user of a protected node.
func (x *explainer) userFinding(ctx context.Context, n, user *Node, e relation.Edge, refused string) *Finding {
	f := &Finding{
		About: user.ID, Topic: aboutProtection,
		Text: fmt.Sprintf("%s: %s uses it (%s)", refused, user.ID, e.Declarer),
	}
	switch {
	case user.Status == NotFound:
		f.Text += ", although the user is gone"
		f.Next = fmt.Sprintf("check that the operator runs: it ends %s when %s is gone", e.Declarer, user.ID)
	case user.Deleted != nil:
		f.Text += ", and is being deleted"
		f.Next = fmt.Sprintf("wait until %s is gone", user.ID)
		f.Because = x.follow(ctx, user, x.deletionFindings)
	default:
		f.removal = x.deleteStep(user)
		f.Next = x.stepToDelete(n, f.removal)
	}
	return f
}

// isUsage reports whether a [Node] is of a kind whose objects protect others.
func (x *explainer) isUsage(n *Node) bool {
	return slices.ContainsFunc(x.rules.declaredBy(n.ID.GroupKind()), func(r rule) bool { return r.Role == relation.Usage })
}

// declarationFindings returns, for a Usage, the protected object and its users, and
// whether they exist.
func (x *explainer) declarationFindings(ctx context.Context, n *Node) []*Finding {
	var findings []*Finding
	for _, e := range x.index.Declared(n.ID) {
		if e.Content != nil || isEnd(e, n.ID) {
			continue
		}
		findings = append(findings, x.endFinding(ctx, n, e.Target, "protects"))
		if !e.Source.IsZero() {
			findings = append(findings, x.endFinding(ctx, n, e.Source, "for"))
		}
	}
	if x.isUnreported(n) {
		findings = append(findings, unreportedFinding(n))
	}
	return findings
}

// endFinding describes one end of an edge that a Usage declares.
func (x *explainer) endFinding(ctx context.Context, n *Node, end relation.Ref, word string) *Finding {
	f := &Finding{About: end.ID, Topic: aboutReference, Text: fmt.Sprintf("%s %s", word, end)}
	nodes := x.members(ctx, end)
	x.readFirst(ctx, nodes)
	if end.Selector != nil {
		f.Because = findEach(end.ID, nodes, func(node *Node) *Finding {
			return &Finding{About: node.ID, Topic: aboutReference, Text: node.ID.String()}
		})
	}
	if slices.ContainsFunc(nodes, func(node *Node) bool { return node.Status != NotFound }) {
		return f
	}
	missing, text := end.String(), ", which does not exist"
	if end.Selector != nil {
		missing, text = "an object of kind "+strings.TrimPrefix(missing, "every "), ", and there is none"
	}
	f.Text += text
	f.Next = fmt.Sprintf("create %s, or delete %s (ask its owner)", missing, n.ID)
	return f
}

// isUnreported reports whether a [Node] has no conditions although a controller has to
// report some.
func (x *explainer) isUnreported(n *Node) bool {
	return n.full != nil && len(n.Conditions) == 0 && x.rules.declares(n.ID.GroupKind(), false)
}

// unreportedFinding describes a [Node] for which isUnreported is true.
func unreportedFinding(n *Node) *Finding {
	return &Finding{
		About: n.ID, Topic: aboutStatus, Text: notReported,
		Next: "start the operator (kinship operator), or find out why it does not work; " +
			"this is a task for a cluster administrator",
	}
}
