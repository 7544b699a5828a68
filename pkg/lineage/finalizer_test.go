package lineage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/pkg/relation"
)

const guardedByPorts = "finalizer " + portGuard + ": the controller of Port.openstack.k-orc.cloud objects removes it " +
	"when no Port refers to it"

// TestTerminatingFindings tells for each finalizer of a deleted object who removes the finalizer, and when.
// Finalizers that wait for holders come first, and the conditions are told once.
func TestTerminatingFindings(t *testing.T) {
	waits := withConditions(condition1("Ready", "False", "R", "the quota is used up"))
	network := named(networkKind, "net", deleted, whole, waits,
		withFinalizers("example.com/backup", "b.example/x", portGuard))
	holder := named(portKind, "web", whole)
	usage := named(usageKind, "u", deleted, whole, waits, withFinalizers("usage.example/kept"))
	source, gone := named(configKind, "source", whole), named(configKind, "gone", withStatus(NotFound))
	declared := edge("usage", relation.Usage, usage, named(configKind, "used"))
	declared.Source = relation.Named(source.ID)
	content := relation.Named(gone.ID)
	inside := declared
	inside.Source, inside.Content = relation.Named(gone.ID), &content
	space := named(namespaceKind, "space", deleted, func(n *Node) {
		n.full = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"finalizers": []any{"kubernetes"}}}}
	})
	blocking, plain := true, false
	owned := func(name string, blocks *bool) *Node {
		return named(configKind, name, whole, ownedBy(metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: "owner", UID: "owner", BlockOwnerDeletion: blocks,
		}))
	}
	parts := []*Node{owned("blocks", &blocking), owned("does-not", &plain), owned("by-default", nil)}
	cases := map[string]struct {
		reason string
		node   *Node
		nodes  []*Node
		edges  []relation.Edge
		want   []string
	}{
		"none": {
			"the end is near", named(configKind, "a", deleted, whole), nil, nil,
			[]string{"no finalizer is left, so the API server deletes it at any moment"},
		},
		"holders first": {
			"the other finalizers are removed later", network,
			[]*Node{holder},
			[]relation.Edge{edge("port-network", relation.Dependency, holder, network)},
			[]string{
				guardedByPorts,
				"  Port/web refers to it (spec.port-network)",
				"finalizer b.example/x: its controller has to remove it",
				"  Ready is False (R): the quota is used up",
				"finalizer example.com/backup: its controller has to remove it",
			},
		},
		"held by nobody": {
			"the finalizer will be removed", named(networkKind, "free", deleted, whole, withFinalizers(portGuard)), nil, nil,
			[]string{
				guardedByPorts,
				"  no object refers to it any more",
			},
		},
		"sources": {
			"a Usage waits for its users, and not for the objects inside of its target", usage,
			[]*Node{source, gone},
			[]relation.Edge{declared, inside},
			[]string{
				"finalizer usage.example/kept: the operator removes it when the user is gone",
				"  Ready is False (R): the quota is used up",
				"  ConfigMap/source exists and is not being deleted",
			},
		},
		"a namespace": {
			"the finalizer of a Namespace is in its spec", space, nil, nil,
			[]string{"finalizer kubernetes: the namespace controller removes it when nothing is left in it"},
		},
		"foreground": {
			"only blockOwnerDeletion blocks", named(podKind, "owner", deleted, whole, withFinalizers("foregroundDeletion")),
			parts, nil,
			[]string{
				"finalizer foregroundDeletion: the garbage collector removes it when no owned object blocks it",
				"  the garbage collector has not deleted ConfigMap/blocks yet",
			},
		},
		"orphan": {
			"each owned object names its owner", named(podKind, "owner", deleted, whole, withFinalizers("orphan")), parts, nil,
			[]string{
				"finalizer orphan: the garbage collector removes it when no object names it as its owner",
				"  ConfigMap/blocks exists and is not being deleted", "  ConfigMap/by-default exists and is not being deleted",
				"  ConfigMap/does-not exists and is not being deleted",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider(func(o *Options) {
				o.Finalizers = []Finalizer{{
					Name: "usage.example/kept", By: "the operator", When: "the user is gone", Waits: WaitsForSources,
				}}
			})
			x.know(append([]*Node{tc.node}, tc.nodes...), tc.edges...)
			findings := x.terminatingFindings(t.Context(), tc.node)
			compare(t, tc.reason, tc.want, lines(findings, ""))
			for _, f := range findings {
				if f.Next == "" || f.About != tc.node.ID {
					t.Errorf("%q has no step, or is about %s", f.Text, f.About)
				}
			}
		})
	}
}

// TestSilentGroupFindings names each API group without an answer once, for users who may not list
// APIServices.
func TestSilentGroupFindings(t *testing.T) {
	x, space := decider(), named(namespaceKind, "space", deleted)
	x.skipped = []Skipped{
		{Group: "b.example", Resource: "*", Reason: "no route"},
		{Group: "a.example", Resource: "*", Reason: "EOF"},
		{Group: "b.example", Resource: "*", Reason: "timeout"},
		{Group: "c.example", Resource: "things", Reason: "forbidden"},
	}
	findings := x.silentGroupFindings(space)
	compare(t, "each group", []string{
		"API group a.example does not answer, and no namespace is deleted until it does: EOF",
		"API group b.example does not answer, and no namespace is deleted until it does: no route",
	}, lines(findings, ""))
	for _, f := range findings {
		if !f.first || f.Topic != aboutBlocker {
			t.Errorf("%q is not urgent: no namespace is deleted before", f.Text)
		}
	}
	compare(t, "next", "ask a cluster administrator to find out why the APIService of group a.example is not available; "+
		"Namespace/space waits for it", plainly(findings[0].Next))
	if got := x.apiGroupFindings(t.Context(), space); got != nil {
		t.Errorf("a cluster without APIServices: %v", got)
	}
}
