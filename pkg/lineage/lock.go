package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/lists"
)

// Lock is a label that marks an object whose deletion is refused, such as
// crossplane.io/in-use. A user who may not list the protecting objects can read the label.
type Lock struct {
	Label, Value string
	// By are the kinds of the protecting objects, such as Usage and ClusterUsage.
	By []schema.GroupKind
}

// hiddenLocks returns the locks on a [Node] whose protecting objects could not all be listed.
func (c *Cluster) hiddenLocks(n *Node) []Lock {
	return slices.DeleteFunc(slices.Clone(c.options.Locks), func(l Lock) bool {
		value, ok := n.Labels[l.Label]
		return !ok || value != l.Value || len(c.skippedOf(l.By...)) == 0
	})
}

// lockFindings returns what refuses the deletion of a [Node] besides the given protections:
// a lock with hidden protections, or any other refusal of the API server.
func (x *explainer) lockFindings(ctx context.Context, n *Node, protections []*Finding) []*Finding {
	if n.Deleted != nil {
		return nil
	}
	trial := x.try(ctx, n)
	var findings []*Finding
	for _, l := range x.hiddenLocks(n) {
		findings = append(findings, lockFinding(n, l, x.skippedOf(l.By...), trial))
	}
	explained := len(findings) > 0 || slices.ContainsFunc(protections, func(f *Finding) bool { return f.enforced })
	if trial.Outcome == Refused && !explained {
		findings = append(findings, &Finding{
			About: n.ID, Topic: aboutProtection, Text: "its deletion is refused: " + trial.Text,
			Next: onlyToDelete(n, "resolve the refusal: "+trial.Text),
		})
	}
	return findings
}

// lockFinding describes a lock whose protecting objects could not all be listed.
func lockFinding(n *Node, l Lock, hidden []Skipped, trial Trial) *Finding {
	kinds := lists.Map(hidden, func(s Skipped) string { return s.GroupResource().String() })
	places := lists.Map(hidden, Skipped.String)
	f := &Finding{
		About: n.ID, Topic: aboutProtection,
		Next: onlyToDelete(n, fmt.Sprintf("ask a user who may list %s which of them protect %s",
			strings.Join(kinds, ", "), n.ID.Short())),
	}
	label := fmt.Sprintf("label %s marks it as protected; not all protecting objects are visible: %s",
		l.Label, strings.Join(places, ", "))
	switch trial.Outcome {
	case Refused:
		f.Text = fmt.Sprintf("its deletion is refused: %s; %s", trial.Text, label)
	case Allowed:
		f.Text = "its deletion would be allowed now, although " + label
	case Untried:
		f.Text = fmt.Sprintf("its deletion was not tried (%s); %s", trial.Text, label)
	}
	return f
}

// onlyToDelete returns the next step for a user who wants to delete a [Node].
func onlyToDelete(n *Node, step string) string {
	return fmt.Sprintf("nothing to do. To delete %s, first %s", n.ID, step)
}
