package lineage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// lines writes findings one per line, without group and namespace.
func lines(findings []*Finding, indent string) []string {
	var all []string
	for _, f := range findings {
		all = append(append(all, indent+plainly(f.Text)), lines(f.Because, indent+"  ")...)
	}
	return all
}

// compare fails if two values differ.
func compare(t *testing.T, reason string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want, +got):\n%s", reason, diff)
	}
}

// know adds nodes, and edges between the nodes, to an explainer.
func (x *explainer) know(nodes []*Node, edges ...relation.Edge) {
	x.register(nodes...)
	byDeclarer := map[object.ID][]relation.Edge{}
	for _, e := range edges {
		byDeclarer[e.Declarer] = append(byDeclarer[e.Declarer], e)
	}
	for id, declared := range byDeclarer {
		x.index.Set(id, declared)
	}
}

// edge is an edge that its source declares by a rule of decider.
func edge(rule string, role relation.Role, source, target *Node) relation.Edge {
	return relation.Edge{
		Relation: rule, Role: role, Declarer: source.ID, Source: relation.Named(source.ID),
		Target: relation.Named(target.ID), Field: "spec." + rule,
	}
}

// waiting is a Port that waits for others, as its controller has reported.
func waiting(name string) *Node {
	notReady := withConditions(condition1("Ready", "False", "R", "waiting"))
	return named(portKind, name, whole, withStatus(InProgress), notReady)
}

// TestDependencyFindings follows waits between Ports by the port-network rule.
func TestDependencyFindings(t *testing.T) {
	a, b, c, d := waiting("a"), waiting("b"), waiting("c"), waiting("d")
	waits := func(source, target *Node) relation.Edge {
		return edge("port-network", relation.Dependency, source, target)
	}
	cases := map[string]struct {
		reason string
		edges  []relation.Edge
		want   []string
	}{
		"none": {"the conditions tell all", nil, []string{"Ready is False (R): waiting"}},
		"chain": {
			"each wait is followed",
			[]relation.Edge{waits(a, b), waits(b, c)},
			[]string{
				"Ready is False (R): waiting",
				"waits for Port/b (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  waits for Port/c (spec.port-network), which is not ready",
				"    Ready is False (R): waiting",
			},
		},
		"diamond": {
			"Port/d is followed once",
			[]relation.Edge{waits(a, b), waits(a, c), waits(b, d), waits(c, d)},
			[]string{
				"Ready is False (R): waiting",
				"waits for Port/b (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  waits for Port/d (spec.port-network), which is not ready",
				"    Ready is False (R): waiting",
				"waits for Port/c (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  also waits for Port/d",
			},
		},
		"circle": {
			"the wait that closes the circle is named",
			[]relation.Edge{waits(a, b), waits(b, c), waits(c, a)},
			[]string{
				"Ready is False (R): waiting",
				"waits for Port/b (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  waits for Port/c (spec.port-network), which is not ready",
				"    Ready is False (R): waiting",
				"    waits for Port/a (spec.port-network), and so they wait for each other in a circle: " +
					"Port/a -> Port/b -> Port/c -> Port/a",
			},
		},
		"itself": {
			"the shortest circle",
			[]relation.Edge{waits(a, a)},
			[]string{
				"Ready is False (R): waiting",
				"waits for Port/a (spec.port-network), and so they wait for each other in a circle: Port/a -> Port/a",
			},
		},
		"two circles": {
			"each circle is named once",
			[]relation.Edge{waits(a, b), waits(b, a), waits(a, c), waits(c, a)},
			[]string{
				"Ready is False (R): waiting",
				"waits for Port/b (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  waits for Port/a (spec.port-network), and so they wait for each other in a circle: Port/a -> Port/b -> Port/a",
				"waits for Port/c (spec.port-network), which is not ready",
				"  Ready is False (R): waiting",
				"  waits for Port/a (spec.port-network), and so they wait for each other in a circle: Port/a -> Port/c -> Port/a",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know([]*Node{a, b, c, d}, tc.edges...)
			x.walk.Mark(a)
			compare(t, tc.reason, tc.want, lines(x.unreadyFindings(t.Context(), a), ""))
		})
	}
}

// TestHoldingFindings names the objects that keep a deleted Network.
func TestHoldingFindings(t *testing.T) {
	network := named(networkKind, "net", whole, deleted, withFinalizers(portGuard))
	live, going := named(portKind, "live", whole), named(portKind, "going", whole, deleted)
	other := named(portKind, "other", whole)
	keeps := func(source *Node) relation.Edge { return edge("port-network", relation.Dependency, source, network) }
	cases := map[string]struct {
		reason  string
		edges   []relation.Edge
		skipped []Skipped
		want    []string
	}{
		"none": {"the finalizer is about to be removed", nil, nil, []string{"no object refers to it any more"}},
		"one": {
			"a Port keeps the Network",
			[]relation.Edge{keeps(live)},
			nil,
			[]string{"Port/live refers to it (spec.port-network)"},
		},
		"deleted last": {
			"the live Port comes first, because a user has to act",
			[]relation.Edge{keeps(going), keeps(live)},
			nil,
			[]string{
				"Port/live refers to it (spec.port-network)",
				"Port/going refers to it (spec.port-network), and is being deleted too",
				"  no finalizer is left, so the API server deletes it at any moment",
			},
		},
		"no guard": {
			"a rule without a finalizer keeps nothing",
			[]relation.Edge{edge("port-plain", relation.Dependency, other, network)},
			nil,
			[]string{"no object refers to it any more"},
		},
		"hidden": {
			"Ports that could not be listed may keep the Network", nil,
			[]Skipped{{Group: portKind.Group, Reason: "forbidden"}},
			[]string{"whether a Port refers to it is unknown: .openstack.k-orc.cloud in the cluster (forbidden)"},
		},
		"hidden elsewhere": {
			"the Ports of the Network's namespace were listed", nil,
			[]Skipped{{Group: portKind.Group, Except: "shop", Reason: "forbidden"}},
			[]string{"no object refers to it any more"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know([]*Node{network, live, going, other}, tc.edges...)
			x.skipped = tc.skipped
			d := &deletion{Node: network, step: "delete Port/live"}
			findings := x.holdingFindings(t.Context(), d, portGuard)
			compare(t, tc.reason, tc.want, lines(findings, ""))
			if name == "one" && findings[0].Next != d.step {
				t.Errorf("next is %q", findings[0].Next)
			}
		})
	}
}

func TestHolderFindings(t *testing.T) {
	network := named(networkKind, "net", whole, withFinalizers(portGuard))
	port := named(portKind, "web", whole)
	x := decider()
	twice := edge("port-secret", relation.Dependency, port, network)
	x.know([]*Node{network, port}, edge("port-network", relation.Dependency, port, network), twice)
	findings := x.holderFindings(t.Context(), network)
	compare(t, "one finding for one object", []string{
		"its deletion would wait: Port/web refers to it (spec.port-network, spec.port-secret)",
	}, lines(findings, ""))
	compare(t, "the step is optional", "nothing to do. To delete Network/net, first delete Port/web, or change its "+
		"spec.port-network and spec.port-secret, if that can be changed (ask its owner)", plainly(findings[0].Next))
	deleted(network)
	if got := x.holderFindings(t.Context(), network); got != nil {
		t.Errorf("a deleted Network waits already: %q", lines(got, ""))
	}
}

// TestCollapse counts the ReplicaSet and the Pods at their Deployment.
func TestCollapse(t *testing.T) {
	secret := named(secretKind, "db")
	web := named(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web")
	pod1 := named(podKind, "pod1", controlledBy("apps/v1", "Deployment", "web"))
	pod2 := named(podKind, "pod2", controlledBy("apps/v1", "Deployment", "web"))
	alone := named(podKind, "alone", controlledBy("v1", "Node", "host"))
	x := decider()
	x.know([]*Node{secret, web, pod1, pod2, alone})
	uses := func(rule string, source *Node) relation.Edge { return edge(rule, relation.Dependency, source, secret) }
	kept, counts := x.collapse([]relation.Edge{
		uses("deployment-secret", web), uses("pod-secret", pod1), uses("pod-secret", pod1), uses("pod-secret", pod2),
		uses("pod-secret", alone),
	})
	sources := make([]string, 0, len(kept))
	for _, e := range kept {
		sources = append(sources, e.Source.Short())
	}
	compare(t, "kept are the topmost referrers", []string{"Deployment/web", "Pod/alone"}, sources)
	compare(t, "a Pod with two references counts once", map[object.ID]int{web.ID: 2}, counts)
}

func TestReferrerFindings(t *testing.T) {
	secret, claim := named(secretKind, "db"), named(claimKind, "data", withFinalizers(claimGuard))
	web := named(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web")
	pod1 := named(podKind, "pod1", controlledBy("apps/v1", "Deployment", "web"))
	pod2 := named(podKind, "pod2", controlledBy("apps/v1", "Deployment", "web"))
	x := decider()
	x.know(
		[]*Node{secret, claim, web, pod1, pod2},
		edge("deployment-secret", relation.Dependency, web, secret), edge("pod-secret", relation.Dependency, pod1, secret),
		edge("pod-claim", relation.Dependency, pod1, claim), edge("port-plain", relation.Dependency, pod2, secret),
	)
	compare(t, "a reference of Kubernetes' own kinds", []string{
		"Deployment.apps/web refers to it (spec.deployment-secret), as does 1 object that it created; " +
			"this does not prevent its deletion",
	}, lines(x.referrerFindings(secret), ""))
	compare(t, "the finalizer keeps the claim: holderFindings tells", []string(nil), lines(x.referrerFindings(claim), ""))
	claim.Finalizers = nil
	compare(t, "without the finalizer nothing keeps the claim", []string{
		"Pod/pod1 refers to it (spec.pod-claim); this does not prevent its deletion",
	}, lines(x.referrerFindings(claim), ""))
	secret.Status = NotFound
	compare(t, "a missing Secret can't be deleted", []string(nil), lines(x.referrerFindings(secret), ""))
}

// TestProtectionFindings tells of Usages in force and of others.
func TestProtectionFindings(t *testing.T) {
	effective := withConditions(condition1("Effective", "True", "", ""))
	used, user := named(configKind, "used", whole), named(configKind, "user", whole)
	gone := named(configKind, "gone", withStatus(NotFound), func(n *Node) { n.UID = "" })
	reason := func(n *Node) {
		n.full = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"reason": "do not"}}}
	}
	by := func(usage, source *Node) relation.Edge {
		e := relation.Edge{Relation: "usage", Role: relation.Usage, Declarer: usage.ID, Target: relation.Named(used.ID)}
		if source != nil {
			e.Source = relation.Named(source.ID)
		}
		return e
	}
	cases := map[string]struct {
		reason string
		usage  *Node
		source *Node
		trial  Trial
		want   []string
		next   string
	}{
		"by an object": {
			"the user has to be deleted first", named(usageKind, "u", effective), user,
			Trial{Outcome: Refused},
			[]string{"its deletion is refused: ConfigMap/user uses it (Usage.protection.crossplane.io/u)"},
			"nothing to do. To delete ConfigMap/used, first delete ConfigMap/user (ask its owner)",
		},
		"by a missing object": {
			"the operator has to end the Usage", named(usageKind, "u", effective), gone,
			Trial{Outcome: Refused},
			[]string{
				"its deletion is refused: ConfigMap/gone uses it (Usage.protection.crossplane.io/u), although the user is gone",
			},
			"check that the operator runs: it ends Usage.protection.crossplane.io/u when ConfigMap/gone is gone",
		},
		"with a reason": {
			"the Usage has to be deleted first", named(usageKind, "u", reason, effective), nil,
			Trial{Outcome: Refused},
			[]string{`its deletion is refused: Usage.protection.crossplane.io/u protects it: "do not"`},
			"nothing to do. To delete ConfigMap/used, first delete Usage.protection.crossplane.io/u " +
				"(ask its owner whether it is still needed)",
		},
		"untried": {
			"the finding says that the deletion was not tried", named(usageKind, "u", effective), nil,
			Trial{Untried, "you may not delete it"},
			[]string{
				"its deletion is refused (as reported; the deletion was not tried: you may not delete it): " +
					`Usage.protection.crossplane.io/u protects it: "no reason given"`,
			},
			"nothing to do. To delete ConfigMap/used, first delete Usage.protection.crossplane.io/u " +
				"(ask its owner whether it is still needed)",
		},
		"not enforced": {
			"the webhook configuration is missing", named(usageKind, "u", effective), nil,
			Trial{Outcome: Allowed},
			[]string{
				"Usage.protection.crossplane.io/u does not protect it: the API server would delete it now: " +
					"the webhook configuration or policy that refuses deletions is missing or exempts you",
			},
			"nothing to do, unless ConfigMap/used needs protection: " +
				"then find out why Usage.protection.crossplane.io/u is not in force",
		},
		"not reported": {
			"no operator runs", named(usageKind, "u"), nil,
			Trial{Outcome: Refused},
			[]string{
				"Usage.protection.crossplane.io/u does not protect it: no controller has reported its status yet; " +
					"check that the operator runs",
			},
			"nothing to do, unless ConfigMap/used needs protection: " +
				"then find out why Usage.protection.crossplane.io/u is not in force",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know([]*Node{used, user, gone, tc.usage}, by(tc.usage, tc.source))
			x.nodes[gone.ID] = gone
			x.trials.Store(used, tc.trial)
			findings := x.protectionFindings(t.Context(), used)
			compare(t, tc.reason, tc.want, lines(findings, ""))
			compare(t, "next", tc.next, plainly(findings[0].Next))
		})
	}
}

func TestLockFindings(t *testing.T) {
	kept := named(configKind, "kept", func(n *Node) { n.Labels = map[string]string{"in-use": "true"} })
	hidden := []Skipped{{Group: usageKind.Group, Resource: "*", Reason: "forbidden"}}
	withLock := func(o *Options) { o.Locks = []Lock{{"in-use", "true", []schema.GroupKind{usageKind}}} }
	const label = "label in-use marks it as protected; not all protecting objects are visible: " +
		"*.protection.crossplane.io in the cluster (forbidden)"
	cases := map[string]struct {
		reason      string
		skipped     []Skipped
		trial       Trial
		protections []*Finding
		want        []string
	}{
		"allowed, all visible": {"nothing refuses", nil, Trial{Outcome: Allowed}, nil, nil},
		"refused by a Usage": {
			"the protection explains the refusal", nil, Trial{Refused, "no"}, []*Finding{{enforced: true}}, nil,
		},
		"refused by something else": {
			"the API server's words", nil, Trial{Refused, "no"}, []*Finding{{}}, []string{"its deletion is refused: no"},
		},
		"refused and hidden": {"", hidden, Trial{Refused, "no"}, nil, []string{"its deletion is refused: no; " + label}},
		"allowed and hidden": {
			"", hidden, Trial{Outcome: Allowed}, nil, []string{"its deletion would be allowed now, although " + label},
		},
		"untried and hidden": {
			"", hidden, Trial{Untried, "you may not"}, nil, []string{"its deletion was not tried (you may not); " + label},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider(withLock)
			x.skipped = tc.skipped
			x.trials.Store(kept, tc.trial)
			compare(t, tc.reason, tc.want, lines(x.lockFindings(t.Context(), kept, tc.protections), ""))
		})
	}
	x := decider(withLock)
	x.skipped = hidden
	if got := x.hiddenLocks(named(configKind, "free")); len(got) > 0 {
		t.Errorf("without the label: %v", got)
	}
	if got := x.lockFindings(t.Context(), named(configKind, "going", deleted), nil); got != nil {
		t.Errorf("a deleted object: %v", got)
	}
}

func TestFinishingFinding(t *testing.T) {
	pod := named(podKind, "web", deleted)
	compare(t, "a Pod without a node",
		"no finalizer is left, so the API server deletes it at any moment", finishingFinding(pod).Text)
	pod.full = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeName": "host"}}}
	f := finishingFinding(pod)
	compare(t, "a Pod on a node", "the kubelet on Node/host has not reported yet that the containers have ended", f.Text)
	compare(t, "next", "wait for the kubelet on Node/host; if that node is gone, "+
		"a cluster administrator has to delete Node/host", f.Next)
}

func TestUnknownFinalizerFinding(t *testing.T) {
	n := named(configKind, "a", deleted, whole)
	d := &deletion{Node: n, reported: []*Finding{{Text: "Ready is False"}}}
	compare(t, "without managedFields", []string{
		"finalizer example.com/backup: its controller has to remove it", "  Ready is False",
	}, lines([]*Finding{unknownFinalizerFinding(d, "example.com/backup")}, ""))
	n.full.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "backup", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"example.com/backup\"":{}}}}`),
	}})
	f := unknownFinalizerFinding(d, "example.com/backup")
	compare(t, "with managedFields", []string{
		"finalizer example.com/backup: its controller has to remove it; field manager backup added it",
	}, lines([]*Finding{f}, ""))
	compare(t, "next", "check that the controller behind finalizer example.com/backup runs and can do its work "+
		"(field manager backup)", f.Next)
	if got := finalizerManager(n, "example.com/back"); got != "" {
		t.Errorf("the manager of a prefix is %q", got)
	}
}

func TestBlockerFinding(t *testing.T) {
	collector := Finalizer{Name: "f", By: "the garbage collector", Deletes: true}
	operator := Finalizer{Name: "f", By: "the operator"}
	cases := map[string]struct {
		reason    string
		blocker   *Node
		finalizer Finalizer
		text      string
		next      string
	}{
		"gone": {"nothing to do", named(configKind, "a", withStatus(NotFound)), operator, "ConfigMap/a is gone", ""},
		"deleted": {
			"its own findings have the step", named(configKind, "a", deleted, whole), operator,
			"ConfigMap/a is being deleted too", "",
		},
		"to be deleted": {
			"the garbage collector deletes the object", named(configKind, "a"), collector,
			"the garbage collector has not deleted ConfigMap/a yet",
			"wait for the garbage collector to delete ConfigMap/a; if this takes long, check that it runs",
		},
		"live": {
			"a user has to delete the object", named(configKind, "a"), operator,
			"ConfigMap/a exists and is not being deleted", "delete ConfigMap/a (ask its owner)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := decider().blockerFinding(t.Context(), tc.blocker, tc.finalizer)
			compare(t, tc.reason, tc.text, plainly(f.Text))
			compare(t, "next", tc.next, plainly(f.Next))
		})
	}
}

func TestConditionFindings(t *testing.T) {
	cloud := object.ID{Kind: "Secret", Name: "cloud"}
	cases := map[string]struct {
		reason     string
		conditions []metav1.Condition
		told       []object.ID
		want       []string
	}{
		"good": {"nothing to tell", []metav1.Condition{condition1("Ready", "True", "", "")}, nil, nil},
		"same cause": {
			"one finding for one reason and message",
			[]metav1.Condition{condition1("Available", "False", "R", "waits"), condition1("Ready", "False", "R", "waits")},
			nil,
			[]string{"Available is False, Ready is False (R): waits"},
		},
		"other causes": {
			"a finding for each",
			[]metav1.Condition{condition1("Available", "False", "R", ""), condition1("Ready", "False", "R", "")},
			nil,
			[]string{"Available is False (R)", "Ready is False (R)"},
		},
		"told": {
			"another finding names the Secret",
			[]metav1.Condition{condition1("Ready", "False", "R", "waiting for Secret/cloud.")},
			[]object.ID{cloud},
			nil,
		},
		"partly told": {
			"the second line is new",
			[]metav1.Condition{condition1("Ready", "False", "R", "waiting for Secret/cloud\nno quota")},
			[]object.ID{cloud},
			[]string{"Ready is False (R): waiting for Secret/cloud; no quota"},
		},
		"a longer name": {
			"Secret/cloud is not Secret/cloud-2",
			[]metav1.Condition{condition1("Ready", "False", "R", "waiting for Secret/cloud-2")},
			[]object.ID{cloud},
			[]string{"Ready is False (R): waiting for Secret/cloud-2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := conditionFindings(named(portKind, "a"), tc.conditions, tc.told...)
			compare(t, tc.reason, tc.want, lines(got, ""))
		})
	}
	n := named(portKind, "a", whole)
	n.full.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager:  "network-operator",
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}}}}`),
	}})
	got := conditionFindings(n, []metav1.Condition{condition1("Ready", "False", "R", "x")})[0].Next
	compare(t, "the field manager reported",
		"resolve what network-operator reports about Port/a: Ready is False (R): x", plainly(got))
}

func TestConditionsOf(t *testing.T) {
	obj := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	ready := map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(3), "probe": nil}
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Local())
	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		want   []metav1.Condition
	}{
		"usual": {
			"unknown fields are ignored", obj(ready),
			[]metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 3}},
		},
		"no type":  {"such an entry is no condition", obj(map[string]any{"status": "True"}), nil},
		"a string": {"such an entry is no condition", obj("Ready"), nil},
		"two": {
			"the others are kept", obj("Ready", ready),
			[]metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 3}},
		},
		"no list": {"an object without conditions", &unstructured.Unstructured{Object: map[string]any{}}, nil},
		"not a map": {
			"status.conditions of another type", &unstructured.Unstructured{Object: map[string]any{"status": "up"}}, nil,
		},
		"time": {
			"times are read", obj(map[string]any{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}),
			[]metav1.Condition{{Type: "Ready", LastTransitionTime: at}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { compare(t, tc.reason, tc.want, conditionsOf(tc.obj)) })
	}
}

func TestFailingCondition(t *testing.T) {
	bad := withConditions(condition1("Synced", "True", "", ""), condition1("Available", "False", "R", "m"))
	if c, failing := failingCondition(named(apiServiceKind, "v1.x", bad)); !failing || c.Type != "Available" {
		t.Errorf("an APIService with Available=False: %v, %t", c, failing)
	}
	if _, failing := failingCondition(named(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", bad)); failing {
		t.Error("kstatus knows Deployments")
	}
	unknown := withConditions(condition1("Available", "Unknown", "", ""))
	if _, failing := failingCondition(named(apiServiceKind, "v1.x", unknown)); failing {
		t.Error("Available=Unknown is no failure")
	}
}

func TestNewNode(t *testing.T) {
	grace := int64(30)
	end := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC))
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "1", DeletionTimestamp: &end, DeletionGracePeriodSeconds: &grace,
	}}
	n := newNode(podKind, obj)
	compare(t, "the ID", "Pod/web in namespace shop", n.ID.String())
	if n.Status != Terminating || !n.Deleted.Equal(end.Add(-30*time.Second)) {
		t.Errorf("got %+v, deleted at %s", n, n.Deleted)
	}
	n.setExisting()
	compare(t, "a deleted Secret is Terminating", Terminating, n.Status)
	n.setMissing("there is no such object")
	if n.Status != NotFound || n.UID != "" || n.Message == "" {
		t.Errorf("a missing object: %+v", n)
	}
}

// TestRegister: an object that was read whole is kept whole.
func TestRegister(t *testing.T) {
	c := decider().Cluster
	full := named(podKind, "a", whole)
	c.register(full)
	c.register(named(podKind, "a"))
	if c.node(full.ID) != full || full.full == nil {
		t.Error("a list of metadata replaces the whole object")
	}
	c.register(named(podKind, "a", func(n *Node) { n.UID = "another" }))
	if full.UID != "another" || full.full != nil {
		t.Errorf("an object that was created again is another object: %+v", full)
	}
	c.register(named(podKind, "b"))
	c.register(named(podKind, "b", whole))
	if c.node(named(podKind, "b").ID).full == nil {
		t.Error("the whole object does not replace its metadata")
	}
}

func TestOwners(t *testing.T) {
	ref := func(name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: name, UID: types.UID(uid)}
	}
	x := decider()
	known := named(secretKind, "known", whole)
	x.register(known)
	n := named(podKind, "a", ownedBy(
		ref("unread", "1"), ref("known", "known"), ref("known", "known"), ref("known", "old"),
	))
	x.register(n)
	got := make([]string, 0, 3)
	for _, owner := range x.owners(n) {
		got = append(got, owner.ID.Name+" "+string(owner.UID)+" "+string(owner.Status))
	}
	slices.Sort(got)
	compare(t, "each owner once; the old uid is gone",
		[]string{"known known Current", "known old NotFound", "unread  Unknown"}, got)
	if got := x.ownedBy(known); len(got) != 1 || got[0] != n {
		t.Errorf("owned objects are found by uid: %v", got)
	}
	if x.isOrphaned(n) || x.isOrphaned(named(podKind, "b")) {
		t.Error("an owner exists, and an object without owner references is no orphan")
	}
}

func TestSkip(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	cases := map[string]struct {
		err  error
		want string
	}{
		"forbidden":    {apierrors.NewForbidden(secrets, "", errors.New("no")), "secrets in namespace shop (forbidden)"},
		"removed":      {apierrors.NewNotFound(secrets, ""), ""},
		"not listable": {apierrors.NewMethodNotSupported(secrets, "list"), ""},
		"unresponsive": {errors.New("EOF"), "secrets in namespace shop (EOF)"},
		"too late": {
			fmt.Errorf("list: %w", context.DeadlineExceeded), "secrets in namespace shop (no answer within 15s)",
		},
		"without reply": {
			apierrors.NewInternalError(errors.New("x")), "secrets in namespace shop (Internal error occurred: x)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := decider().Cluster
			var k kind
			k.Resource.Resource = "secrets"
			c.skip(k, Skipped{Namespace: "shop"}, tc.err)
			got := make([]string, 0, 1)
			for _, s := range c.Skipped() {
				got = append(got, s.String())
			}
			compare(t, "skipped", tc.want, strings.Join(got, " "))
		})
	}
	for want, s := range map[string]Skipped{
		"in namespace shop": {Namespace: "shop"}, "outside namespace shop": {Except: "shop"}, "in the cluster": {},
	} {
		compare(t, "where", want, s.Where())
	}
}

func TestSkippedIsSorted(t *testing.T) {
	c := decider().Cluster
	b, a := Skipped{Group: "b", Resource: "x"}, Skipped{Group: "a", Resource: "y"}
	c.skipped = []Skipped{b, a, b}
	compare(t, "each once, in order", []Skipped{a, b}, c.Skipped())
}

func TestIsListCheaper(t *testing.T) {
	key := listKey{podKind, "shop"}
	cases := map[string]struct {
		reason        string
		total, wanted int
		want          bool
	}{
		"few":     {"4 GET requests are cheap", 4, 4, false},
		"many":    {"1 list replaces 5 GET requests", 5, 5, true},
		"largest": {"250 objects cost as much as 5 requests", 250, 5, true},
		"huge":    {"a list of 251 objects costs more", 251, 5, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := decider().Cluster
			c.listed[key] = tc.total
			compare(t, tc.reason, tc.want, c.isListCheaper(key, tc.wanted))
			compare(t, "a list of unknown size", false, c.isListCheaper(listKey{podKind, ""}, tc.wanted))
		})
	}
}

func TestRules(t *testing.T) {
	all := decider().rules
	compare(t, "the kinds that hold by a finalizer", []schema.GroupKind{portKind}, all.holdingBy(portGuard).declarers())
	compare(t, "no finalizer holds nothing", 0, len(all.holdingBy("")))
	compare(t, "a Port is a kind of a pack",
		[]bool{true, false}, []bool{all.declares(portKind, false), all.declares(portKind, true)})
	compare(t, "a Pod is a kind of Kubernetes",
		[]bool{false, true}, []bool{all.declares(podKind, false), all.declares(podKind, true)})
	compare(t, "an edge knows its rule", portGuard, all.of(relation.Edge{Relation: "port-network"}).Finalizer)
	compare(t, "an unknown rule is empty", "", all.of(relation.Edge{Relation: "nobody"}).Name)
}

func TestMoreFinalizersFirst(t *testing.T) {
	nodes := []*Node{
		named(podKind, "a"), named(podKind, "b", withFinalizers("x")), named(podKind, "c", withFinalizers("x", "y")),
	}
	slices.SortStableFunc(nodes, moreFinalizersFirst)
	got := ""
	for _, n := range nodes {
		got += n.ID.Name
	}
	compare(t, "objects with finalizers first, in their order", "bca", got)
}

func TestLookupOfAnEmptyCluster(t *testing.T) {
	c := catalog{watch.NewCatalog(nil, nil)}
	if got := c.lookup("pods"); len(got) > 0 || len(c.ownable("")) > 0 {
		t.Errorf("before discovery: %v", got)
	}
}

func TestContextError(t *testing.T) {
	if err := contextError(t.Context(), object.ID{}); err != nil {
		t.Error(err)
	}
}
