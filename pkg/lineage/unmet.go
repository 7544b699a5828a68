package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// conditionAvailable is the condition by which an object tells that others can
// rely on it, even if it is not all that its spec asks for.
const conditionAvailable = "Available"

// conditionDrifted is the condition by which an object tells what nobody can correct.
const conditionDrifted = "Drifted"

var secretKind = schema.GroupKind{Kind: "Secret"}

// need is an object that another one depends on.
type need struct {
	target  *Node
	fields  []string
	guarded bool // the target is kept as long as it is named
	later   bool // made without it
	// always says that the target is a Secret that the source keeps, such as one with
	// credentials: without these it can't delete what it has made.
	always bool
	// builtIn says that a field of one of Kubernetes' own kinds names the target.
	builtIn bool
}

func (d need) String() string {
	return fmt.Sprintf("%s (%s)", d.target.ID, strings.Join(d.fields, ", "))
}

// unmet says which objects a node waits for by what its spec names, and follows
// each to its root. It also returns which ones that are.
func (x *explainer) unmet(ctx context.Context, n *Node) ([]*Finding, []object.ID, error) {
	needs, err := x.needs(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	x.path = append(x.path, n)
	defer func() { x.path = x.path[:len(x.path)-1] }()
	told := make([]object.ID, 0, len(needs))
	for _, d := range needs {
		told = append(told, d.target.ID)
	}
	needs, more := few(n.ID, needs)
	var findings []*Finding
	var again []object.ID
	for _, d := range needs {
		if x.seen[d.target] && !slices.Contains(x.path, d.target) {
			again = append(again, d.target.ID)
			continue
		}
		f, err := x.unmetFinding(ctx, n, d)
		if err != nil {
			return nil, nil, err
		}
		findings = append(findings, f)
	}
	if len(again) > 0 {
		findings = append(findings, &Finding{
			About: n.ID, Topic: AboutMore, Text: fmt.Sprintf("it waits for %s as well", list(again)),
		})
	}
	return append(findings, more...), told, nil
}

// needs returns what a node depends on and waits for, each once.
func (x *explainer) needs(ctx context.Context, n *Node) ([]need, error) {
	x.hearOne(n)
	var all []need
	var targets []*Node
	for _, e := range x.index.From(n.object()) {
		if e.Role != relation.Dependency {
			continue
		}
		nodes, err := x.members(ctx, e.Target)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			i := slices.Index(targets, node)
			if i < 0 {
				i, targets, all = len(all), append(targets, node), append(all, need{target: node, later: true})
			}
			all[i].fields = also(all[i].fields, e.Field)
			all[i].guarded = all[i].guarded || x.guardOf(e) != ""
			r := x.relationOf(e)
			all[i].later = all[i].later && r.Later
			_, all[i].builtIn = x.reference(e)
			all[i].always = all[i].always || r.Finalizer != "" && node.ID.GroupKind() == secretKind
		}
	}
	if err := x.fill(ctx, targets); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(d need) bool { return !x.awaits(n, d) }), nil
}

// awaits reports whether a node waits for what it needs. Some is only needed to
// make it, and what is leaving or may not be read is perhaps good enough: whether
// that is waited for, only the controller knows, and names it. It is made without what
// only completes it.
func (x *explainer) awaits(n *Node, d need) bool {
	if d.builtIn {
		return stops(n, d) || named(n, d)
	}
	serves := (d.target.Status == Current && !x.unreported(d.target)) ||
		meta.IsStatusConditionTrue(d.target.Conditions, conditionAvailable)
	switch {
	case d.target.Deleted == nil && serves:
		return false
	case d.guarded && n.Deleted == nil && d.target.Deleted == nil && d.target.Status != Unknown:
		return true
	case d.always && d.target.Status == NotFound:
		return true
	}
	return (!reported(n) && !d.later) || named(n, d)
}

// stops reports whether a node of one of Kubernetes' own kinds can't go on without its target. For
// example a Pod starts when its Secret exists and its claim is bound.
func stops(n *Node, d need) bool {
	unready := d.target.Status == NotFound || d.target.Status == InProgress
	return unready && !d.later && n.Deleted == nil
}

// named reports whether a condition of a node names what the node needs.
func named(n *Node, d need) bool {
	return d.target.Status != Current && slices.ContainsFunc(n.Conditions, func(c metav1.Condition) bool {
		return mentions(c.Message, d.target.ID)
	})
}

// unreported reports whether no controller has said anything of a node of which
// one should.
func (x *explainer) unreported(n *Node) bool {
	return n.full != nil && len(n.Conditions) == 0 && x.declares(n)
}

// reported reports whether a controller has said something of a node as it is now.
func reported(n *Node) bool {
	return n.full != nil && slices.ContainsFunc(n.Conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration == 0 || c.ObservedGeneration == n.full.GetGeneration()
	})
}

// mentions reports whether a message names an object, by kind and name.
func mentions(message string, id object.ID) bool {
	return slices.ContainsFunc(strings.Fields(message), func(word string) bool {
		return strings.Trim(word, `,;:."'()`) == id.Short()
	})
}

// unmetFinding says why a node waits for what it needs.
func (x *explainer) unmetFinding(ctx context.Context, n *Node, d need) (*Finding, error) {
	t := d.target
	f := &Finding{About: t.ID, Topic: AboutDependency, Text: fmt.Sprintf("it waits for %s", d)}
	if i := slices.Index(x.path, t); i >= 0 {
		x.circle(f, n, d, x.path[i:])
		return f, nil
	}
	var err error
	switch {
	case t.Status == NotFound:
		x.seen[t] = true
		f.Text += ", which does not exist"
		f.Next = fmt.Sprintf("create %s, or have %s name another object in %s; whoever made the latter has to act",
			t.ID, n.ID, strings.Join(d.fields, " and "))
		f.first = d.always
	case t.Status == Unknown:
		x.seen[t] = true
		f.Text += ", of which nothing is known here: " + t.Message
		f.Next = fmt.Sprintf("ask somebody who may read %s whether it exists, and is what %s needs", t.ID, n.ID)
	case t.Deleted != nil:
		f.Text += ", which is being deleted"
		f.Next = fmt.Sprintf("create %s anew once it is gone", t.ID)
		f.Because, err = x.follow(ctx, t, x.terminating)
	case x.step >= maxSteps:
		f.Text += fmt.Sprintf(", which is %s; what is behind that is not followed from here", t.Status)
		f.Next = fmt.Sprintf("ask why of %s", t.ID)
	default:
		f.Because, err = x.follow(ctx, t, x.unready)
		if len(f.Because) == 1 && f.Because[0].Topic == AboutMore {
			f.Text, f.Because = f.Text+", which "+strings.TrimPrefix(f.Because[0].Text, "it "), nil
			break
		}
		f.Text += ", which is not ready"
	}
	return f, err
}

// circle says that a node waits for one that waits for it.
func (x *explainer) circle(f *Finding, n *Node, d need, path []*Node) {
	names := make([]string, 0, len(path)+1)
	for _, node := range append(slices.Clone(path), d.target) {
		names = append(names, node.ID.Short())
	}
	f.Topic = AboutCircle
	f.Text += ", and so they wait for each other in a circle: " + strings.Join(names, " -> ")
	f.Next = fmt.Sprintf("break the circle: take %s out of %s of %s, at least until the latter is ready; "+
		"whoever owns it has to act",
		d.target.ID.Short(), strings.Join(d.fields, " and "), n.ID)
}
