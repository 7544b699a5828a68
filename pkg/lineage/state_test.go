package lineage

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestStateFindings tells why an object is not ready. The state of a Usage is what the Usage protects, and an
// object that is ready has only its drift.
func TestStateFindings(t *testing.T) {
	bad, drift := condition1("Ready", "False", "R", "no"), condition1("Drifted", "True", "Immutable", "a is 1, not 2")
	used, user := named(configKind, "used", whole), named(configKind, "user", whole)
	gone := named(configKind, "gone", withStatus(NotFound))
	usage := func(conditions ...metav1.Condition) *Node {
		return named(usageKind, "u", whole, withConditions(conditions...))
	}
	protects := func(target, source *Node) relation.Edge {
		e := relation.Edge{Relation: "usage", Role: relation.Usage, Declarer: usage().ID, Target: relation.Named(target.ID)}
		if source != nil {
			e.Source = relation.Named(source.ID)
		}
		return e
	}
	content := relation.Named(used.ID)
	inside := protects(named(namespaceKind, "space"), user)
	inside.Content = &content
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"}
	leaving := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "leaving", UID: "leaving"}
	part := func(name string, change ...func(*Node)) *Node {
		own := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "whole", UID: "whole"}
		return named(configKind, name, append([]func(*Node){whole, ownedBy(own)}, change...)...)
	}
	broken := func(n *Node) { n.Status, n.Message = Failed, "it is broken" }
	cases := map[string]struct {
		reason string
		node   *Node
		nodes  []*Node
		edges  []relation.Edge
		want   []string
	}{
		"ready": {"nothing is to be told", named(configKind, "a", whole, withConditions(bad)), nil, nil, nil},
		"drifted": {
			"an object that drifted is usable", named(configKind, "a", whole, withConditions(bad, drift)), nil, nil,
			[]string{"Drifted is True (Immutable): a is 1, not 2"},
		},
		"without a word": {
			"kstatus says why", named(configKind, "a", whole, broken), nil, nil, []string{"it is broken"},
		},
		"not reported": {
			"no operator has seen the Port", named(portKind, "a", whole), nil, nil, []string{notReported},
		},
		"orphaned": {
			"the garbage collector deletes the object", named(configKind, "a", whole, ownedBy(owner)),
			[]*Node{gone},
			nil,
			[]string{"all its owners are gone, so the garbage collector tries to delete it: ConfigMap/gone"},
		},
		"owner is leaving": {
			"the object may go with its owner", named(configKind, "a", whole, ownedBy(leaving, owner)),
			[]*Node{gone, named(configKind, "leaving", deleted, whole)},
			nil,
			[]string{"owner ConfigMap/leaving is being deleted"},
		},
		"owned": {
			"an owned object that is ready tells nothing", named(configKind, "whole", whole, broken),
			[]*Node{part("one", broken), part("ready"), part("two", withStatus(InProgress), withConditions(bad))},
			nil,
			[]string{
				"owned object ConfigMap/one is Failed", "  it is broken",
				"owned object ConfigMap/two is InProgress", "  Ready is False (R): no",
			},
		},
		"a Usage": {
			"both ends exist", usage(condition1("Ready", "True", "", "")),
			[]*Node{used, user},
			[]relation.Edge{protects(used, user), inside},
			[]string{"protects ConfigMap/used", "for ConfigMap/user"},
		},
		"a Usage of nothing": {
			"the target does not exist, and no operator runs", usage(),
			[]*Node{gone},
			[]relation.Edge{protects(gone, nil)},
			[]string{"protects ConfigMap/gone, which does not exist", notReported},
		},
		"a Usage that fails": {
			"the conditions follow", usage(bad),
			[]*Node{used},
			[]relation.Edge{protects(used, nil)},
			[]string{"protects ConfigMap/used", "Ready is False (R): no"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know(append([]*Node{tc.node}, tc.nodes...), tc.edges...)
			compare(t, tc.reason, tc.want, lines(x.stateFindings(t.Context(), tc.node), ""))
		})
	}
}

// TestEndOfSelector: a Usage whose selector matches no object says so, and the step creates such an object.
func TestEndOfSelector(t *testing.T) {
	end := relation.Ref{
		ID:       object.ID{Kind: "ConfigMap", Namespace: "shop"},
		Selector: &relation.Selector{Labels: map[string]string{"a": "b"}},
	}
	f := decider().endFinding(t.Context(), named(usageKind, "u"), end, "protects")
	compare(t, "text", "protects every ConfigMap that matches a=b, and there is none", plainly(f.Text))
	compare(t, "next", "create an object of kind ConfigMap that matches a=b, or delete "+
		"Usage.protection.crossplane.io/u (ask its owner)",
		plainly(f.Next))
}

// TestManyDependencies: of many waits, the first are named, the others are counted, and those that were told
// before stand in between.
func TestManyDependencies(t *testing.T) {
	x, source := decider(), waiting("source")
	nodes, edges := make([]*Node, 0, maxNamed+3), make([]relation.Edge, 0, maxNamed+2)
	nodes = append(nodes, source)
	for i := range maxNamed + 2 {
		n := named(networkKind, fmt.Sprintf("n%02d", i), withStatus(NotFound))
		nodes, edges = append(nodes, n), append(edges, edge("port-network", relation.Dependency, source, n))
	}
	x.know(nodes, edges...)
	x.walk.Mark(nodes[1])
	findings, told := x.dependencyFindings(t.Context(), source)
	got := lines(findings, "")
	if len(got) != maxNamed+1 || len(told) != maxNamed+2 {
		t.Fatalf("%d findings and %d told", len(got), len(told))
	}
	compare(t, "first", "waits for Network/n01 (spec.port-network), which does not exist", got[0])
	compare(t, "last", []string{"also waits for Network/n00", "and 2 more"}, got[maxNamed-1:])
}

// TestSetObject: the status of an object is that of kstatus, of the conditions Available and Progressing, or
// of a condition that makes the object unusable.
func TestSetObject(t *testing.T) {
	thing := func(apiVersion, kind string, conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a", "generation": int64(2)},
			"status": map[string]any{"conditions": conditions},
		}}
	}
	cond := func(kind, status, reason string) map[string]any {
		return map[string]any{
			"type": kind, "status": status, "reason": reason, "message": "m", "observedGeneration": int64(2),
		}
	}
	const invalid = "InvalidConfiguration"
	refused := []any{cond("Available", "False", invalid), cond("Progressing", "False", invalid)}
	leaving := thing("x.example/v1", "Thing", refused...)
	leaving.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	for name, c := range map[string]struct {
		obj     *unstructured.Unstructured
		want    Status
		message string
	}{
		"no conditions": {thing("v1", "ConfigMap"), Current, "Resource is always ready"},
		"Ready":         {thing("x.example/v1", "Thing", cond("Ready", "False", "R")), InProgress, "m"},
		"refused":       {thing("x.example/v1", "Thing", refused...), Failed, "m"},
		"refused and deleted": {
			leaving, Terminating, "Resource scheduled for deletion",
		},
		"unusable": {
			thing("x.example/v1", "APIService", cond("Available", "False", "Gone")), InProgress, "Available is False (Gone): m",
		},
		"of no form": {
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "x.example/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
				"status": map[string]any{"conditions": "7"},
			}}, Unknown, "",
		},
	} {
		n := &Node{ID: idOf(c.obj)}
		n.setObject(c.obj)
		if n.Status != c.want || c.message != "" && n.Message != c.message || n.Message == "" && c.want == Unknown {
			t.Errorf("%s: %s, %q; want %s, %q", name, n.Status, n.Message, c.want, c.message)
		}
	}
}

func idOf(u *unstructured.Unstructured) object.ID {
	return object.Of(u, u.GroupVersionKind().GroupKind())
}
