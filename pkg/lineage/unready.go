package lineage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/object"
)

// unready says why a node is not as its spec asks for: by its own conditions, by
// what it waits for, and by what it owns that is not ready either.
func (x *explainer) unready(ctx context.Context, n *Node) ([]*Finding, error) {
	findings, told, err := x.unmet(ctx, n)
	if err != nil {
		return nil, err
	}
	owned, err := x.unreadyOwned(ctx, n)
	if err != nil {
		return nil, err
	}
	findings = append(findings, owned...)
	conditions := conditionFindings(n, told...)
	switch {
	case x.unreported(n):
		conditions = []*Finding{silence(n)}
	case len(conditions) == 0 && len(findings) == 0:
		conditions = []*Finding{{
			About: n.ID, Topic: AboutStatus, Text: n.Message,
			Next: fmt.Sprintf("wait for the controller of %s objects, or see that it runs", n.ID.GroupKind()),
		}}
	}
	// The conditions come first, as what people know; the root is further down.
	for _, f := range conditions {
		if len(findings) > 0 {
			f.Next = ""
		}
	}
	return append(conditions, findings...), nil
}

// conditionFindings returns the conditions which are not as they should be. Those
// of the same cause are one finding, and those that say no more than of which
// objects was told are none.
func conditionFindings(n *Node, told ...object.ID) []*Finding {
	var groups [][]metav1.Condition
	for _, c := range n.Conditions {
		if !bad(c) || allTold(c.Message, told) {
			continue
		}
		i := slices.IndexFunc(groups, func(g []metav1.Condition) bool {
			return c.Message != "" && g[0].Reason == c.Reason && g[0].Message == c.Message
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	findings := make([]*Finding, 0, len(groups))
	for _, g := range groups {
		by := reporter(n, g[0].Type)
		if by == "" {
			by = fmt.Sprintf("the controller of %s objects", n.ID.GroupKind())
		}
		findings = append(findings, &Finding{
			About: n.ID, Topic: AboutCondition, Text: say(g...),
			Next: fmt.Sprintf("act on what %s says of %s: %s", by, n.ID, say(g...)),
		})
	}
	return findings
}

// allTold reports whether each line of a message names an object of which was told.
func allTold(message string, told []object.ID) bool {
	for line := range strings.Lines(message) {
		if !slices.ContainsFunc(told, func(id object.ID) bool { return mentions(line, id) }) {
			return false
		}
	}
	return message != ""
}

// unreadyOwned follows the objects a node owns that are not ready.
func (x *explainer) unreadyOwned(ctx context.Context, n *Node) ([]*Finding, error) {
	if err := x.list(ctx, x.catalog.ownable(n.ID.Namespace), n.ID.Namespace); err != nil {
		return nil, err
	}
	owned := x.ownedBy(n)
	if err := x.fill(ctx, owned); err != nil {
		return nil, err
	}
	var behind []*Node
	for _, o := range owned {
		if o.Status == InProgress || o.Status == Failed {
			behind = append(behind, o)
		}
	}
	behind, more := few(n.ID, behind)
	findings := make([]*Finding, 0, len(behind)+1)
	for _, o := range behind {
		because, err := x.follow(ctx, o, x.unready)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%s, which it owns, is %s", o.ID, o.Status)
		if len(because) == 0 {
			text += ": " + o.Message
		}
		findings = append(findings, &Finding{About: o.ID, Topic: AboutOwned, Text: text, Because: because})
	}
	return append(findings, more...), nil
}

// reporter returns which field manager wrote a condition.
func reporter(n *Node, condition string) string {
	return manager(n, []byte(`k:{\"type\":\"`+condition+`\"}`))
}

// author returns which field manager put a finalizer on.
func author(n *Node, finalizer string) string {
	quoted := strconv.Quote(finalizer)
	return manager(n, []byte(`v:`+`\`+quoted[:len(quoted)-1]+`\"`))
}

// manager returns who owns a field of an object, by the key of the field.
func manager(n *Node, key []byte) string {
	if n.full == nil {
		return ""
	}
	var last metav1.ManagedFieldsEntry
	for _, entry := range n.full.GetManagedFields() {
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), key) {
			last = entry
		}
	}
	return last.Manager
}
