package lineage

import (
	"context"
	"fmt"
	"slices"
)

// unreadyFindings returns why a [Node] is not ready: its conditions, the dependencies that
// the node waits for, and the owned objects that are not ready.
func (x *explainer) unreadyFindings(ctx context.Context, n *Node) []*Finding {
	causes, told := x.dependencyFindings(ctx, n)
	causes = append(causes, x.ownedFindings(ctx, n)...)
	conditions := conditionFindings(n, n.Conditions, told...)
	switch {
	case x.isUnreported(n):
		conditions = []*Finding{unreportedFinding(n)}
	case len(conditions) == 0 && len(causes) == 0:
		conditions = []*Finding{{
			About: n.ID, Topic: aboutStatus, Text: n.Message,
			Next: fmt.Sprintf("wait for the controller of %s objects, or check that it runs", n.ID.GroupKind()),
		}}
	}
	if len(causes) > 0 {
		for _, f := range conditions {
			f.Next = "" // The step of a cause ends the condition.
		}
	}
	return append(conditions, causes...)
}

// ownedFindings returns the owned objects of a [Node] that are not ready, and their causes.
func (x *explainer) ownedFindings(ctx context.Context, n *Node) []*Finding {
	x.list(ctx, x.catalog.ownable(n.ID.Namespace), n.ID.Namespace)
	owned := x.ownedBy(n)
	x.readStatus(ctx, owned...)
	unready := slices.DeleteFunc(owned, func(o *Node) bool { return o.Status != InProgress && o.Status != Failed })
	return findEach(n.ID, unready, func(o *Node) *Finding {
		f := &Finding{
			About: o.ID, Topic: aboutOwned, Text: fmt.Sprintf("owned object %s is %s", o.ID, o.Status),
			Because: x.follow(ctx, o, x.unreadyFindings),
		}
		if len(f.Because) == 0 {
			f.Text += ": " + o.Message
		}
		return f
	})
}
