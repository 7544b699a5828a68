package lineage

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

var (
	portKind    = schema.GroupKind{Group: "openstack.k-orc.cloud", Kind: "Port"}
	networkKind = schema.GroupKind{Group: "openstack.k-orc.cloud", Kind: "Network"}
	usageKind   = schema.GroupKind{Group: "protection.crossplane.io", Kind: "Usage"}
	claimKind   = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	configKind  = schema.GroupKind{Kind: "ConfigMap"}
)

const (
	portGuard  = "openstack.k-orc.cloud/port"
	claimGuard = "kubernetes.io/pvc-protection"
)

// decider returns an explainer of an empty cluster: it has relations and no kinds, so it sends
// no request.
func decider(o ...func(*Options)) *explainer {
	options := Options{
		Relations: []relation.Relation{
			{Name: "port-network", Role: relation.Dependency, Declarer: portKind, Finalizer: portGuard},
			{Name: "port-secret", Role: relation.Dependency, Declarer: portKind, Finalizer: portGuard},
			{Name: "port-later", Role: relation.Dependency, Declarer: portKind, Later: true},
			{Name: "port-plain", Role: relation.Dependency, Declarer: portKind},
			{Name: "usage", Role: relation.Usage, Declarer: usageKind},
		},
		References: []relation.Relation{
			{Name: "pod-claim", Role: relation.Dependency, Declarer: podKind, Target: claimKind, Finalizer: claimGuard},
			{Name: "pod-secret", Role: relation.Dependency, Declarer: podKind, Target: secretKind},
			{
				Name: "deployment-secret", Role: relation.Dependency, Target: secretKind,
				Declarer: schema.GroupKind{Group: "apps", Kind: "Deployment"},
			},
		},
	}
	for _, f := range o {
		f(&options)
	}
	options.Decode = func(u *unstructured.Unstructured) (client.Object, error) { return u, nil }
	for _, declared := range [][]relation.Relation{options.Relations, options.References} {
		for i := range declared { // Tests put edges into the index themselves.
			declared[i].Extract = func(client.Object, relation.Kinds) []relation.Edge { return nil }
		}
	}
	c := &Cluster{
		options: options, catalog: catalog{watch.NewCatalog(nil, nil)},
		declared: map[listKey]bool{}, listed: map[listKey]int{}, nodes: map[object.ID]*Node{},
		owned: map[types.UID][]*Node{},
	}
	c.rules, c.ownerRules = newRules(options)
	root := &Node{ID: object.ID{Kind: "Root", Name: "root"}}
	return &explainer{Cluster: c, walk: graph.NewWalk(root, maxSteps), waits: graph.New(object.Compare)}
}

// named returns a node of a kind in namespace shop.
func named(gk schema.GroupKind, name string, change ...func(*Node)) *Node {
	n := &Node{
		ID:  object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: "shop", Name: name},
		UID: types.UID(name), Status: Current,
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func withStatus(s Status) func(*Node) { return func(n *Node) { n.Status = s } }

func deleted(n *Node) {
	at := time.Unix(0, 0)
	n.Deleted, n.Status = &at, Terminating
}

func withFinalizers(names ...string) func(*Node) { return func(n *Node) { n.Finalizers = names } }

func withConditions(conditions ...metav1.Condition) func(*Node) {
	return func(n *Node) { n.Conditions = conditions }
}

// whole marks a node as read, at generation 1.
func whole(n *Node) {
	n.full = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(1)}}}
}

func ownedBy(owners ...metav1.OwnerReference) func(*Node) { return func(n *Node) { n.Owners = owners } }

func controlledBy(apiVersion, kind, name string) func(*Node) {
	yes := true
	return ownedBy(metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: &yes,
	})
}

func condition1(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, ObservedGeneration: 1,
	}
}

// plainly drops group and namespace from a text.
func plainly(text string) string {
	return strings.NewReplacer(".openstack.k-orc.cloud/", "/", " in namespace shop", "").Replace(text)
}

// TestIsWaitedFor is the truth table of waits. The Port is the source of each.
func TestIsWaitedFor(t *testing.T) {
	ready, waiting := condition1("Ready", "True", "R", ""), condition1("Ready", "False", "R", "waiting for Network/net.")
	other := condition1("Ready", "False", "R", "the quota is used up")
	port := func(conditions ...metav1.Condition) *Node {
		return named(portKind, "web", whole, withConditions(conditions...), withStatus(InProgress))
	}
	network := func(change ...func(*Node)) *Node { return named(networkKind, "net", change...) }
	available := withConditions(condition1("Available", "True", "R", ""))
	cases := map[string]struct {
		reason string
		source *Node
		target dependency
		want   bool
	}{
		"ready": {
			"a ready Network is usable", port(waiting), dependency{neighbour: neighbour{Node: network()}, guarded: true}, false,
		},
		"available": {
			"a Network with Available=True is usable while its change fails", port(other),
			dependency{neighbour: neighbour{Node: network(withStatus(Failed), available)}, guarded: true},
			false,
		},
		"unready": {
			"a guarded target has to be ready", port(other),
			dependency{neighbour: neighbour{Node: network(withStatus(InProgress))}, guarded: true},
			true,
		},
		"missing": {
			"a guarded target has to exist", port(other),
			dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}, guarded: true},
			true,
		},
		"unread": {
			"of a Network that the caller may not read, the conditions decide", port(other),
			dependency{neighbour: neighbour{Node: network(withStatus(Unknown))}, guarded: true},
			false,
		},
		"unread and named": {
			"the condition names the Network", port(waiting),
			dependency{neighbour: neighbour{Node: network(withStatus(Unknown))}, guarded: true},
			true,
		},
		"target deleted": {
			"a Network that is being deleted may still be good enough", port(other),
			dependency{neighbour: neighbour{Node: network(deleted)}, guarded: true},
			false,
		},
		"target deleted and named": {
			"the condition names the Network", port(waiting),
			dependency{neighbour: neighbour{Node: network(deleted)}, guarded: true},
			true,
		},
		"source deleted": {
			"a deleted Port needs no Network any more", named(portKind, "web", whole, deleted, withConditions(other)),
			dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}, guarded: true},
			false,
		},
		"credentials of a deleted source": {
			"without its Secret a Port can't be deleted in the cloud",
			named(portKind, "web", whole, deleted, withConditions(other)),
			dependency{
				neighbour: neighbour{Node: named(secretKind, "cloud", withStatus(NotFound))}, guarded: true, credentials: true,
			},
			true,
		},
		"once, created": {
			"a created Port needs the target no more", port(ready, other),
			dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}},
			false,
		},
		"once, not reported": {
			"a new Port waits", port(), dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}}, true,
		},
		"optional, not reported": {
			"a new Port is created without an optional target", port(),
			dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}, optional: true},
			false,
		},
		"optional and named": {
			"the controller waits nevertheless", port(waiting),
			dependency{neighbour: neighbour{Node: network(withStatus(NotFound))}, optional: true},
			true,
		},
		"built in, missing": {
			"a Pod does not start without its Secret", named(podKind, "web", withStatus(InProgress)),
			dependency{neighbour: neighbour{Node: named(secretKind, "db", withStatus(NotFound))}, builtIn: true},
			true,
		},
		"built in, optional": {
			"a Pod starts without an optional Secret", named(podKind, "web", withStatus(InProgress)),
			dependency{neighbour: neighbour{Node: named(secretKind, "db", withStatus(NotFound))}, builtIn: true, optional: true},
			false,
		},
		"built in, failed": {
			"a failed Job behind an object says nothing about it", named(podKind, "web", withStatus(InProgress)),
			dependency{neighbour: neighbour{Node: named(configKind, "db", withStatus(Failed))}, builtIn: true},
			false,
		},
		"built in, source deleted": {
			"a deleted Pod waits for no Secret", named(podKind, "web", deleted),
			dependency{neighbour: neighbour{Node: named(secretKind, "db", withStatus(NotFound))}, builtIn: true},
			false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := decider().isWaitedFor(tc.source, tc.target); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestFinalizerOn(t *testing.T) {
	withOwn := func(o *Options) {
		o.Finalizers = []Finalizer{
			{Name: portGuard, By: "the operator", When: "its resource is gone"},
			{Name: "batch.kubernetes.io/job-tracking", By: "the test", When: "it ends"},
		}
	}
	cases := map[string]struct {
		reason string
		node   *Node
		name   string
		held   bool
		want   Finalizer
	}{
		"unknown": {
			"no table and no relation has the finalizer", named(configKind, "a"), "example.com/backup", false,
			Finalizer{Name: "example.com/backup"},
		},
		"Kubernetes": {
			"the table says who removes the finalizer", named(namespaceKind, "a"), "kubernetes", false,
			Finalizer{"kubernetes", "the namespace controller", "nothing is left in it", waitsForContent, true},
		},
		"option": {
			"the caller's table wins", named(podKind, "a"), "batch.kubernetes.io/job-tracking", false,
			Finalizer{Name: "batch.kubernetes.io/job-tracking", By: "the test", When: "it ends"},
		},
		"guard": {
			"Ports keep a Network by the finalizer", named(networkKind, "a"), portGuard, false,
			Finalizer{Name: portGuard, By: "the operator", When: "no Port refers to it", Waits: waitsForHolders},
		},
		"own": {
			"on a Port the finalizer belongs to its controller", named(portKind, "a"), portGuard, false,
			Finalizer{Name: portGuard, By: "the operator", When: "its resource is gone"},
		},
		"own and held": {
			"another Port refers to the Port", named(portKind, "a"), portGuard, true,
			Finalizer{Name: portGuard, By: "the operator", When: "no Port refers to it", Waits: waitsForHolders},
		},
		"claim": {
			"the holders of a claim come from the relations of Kubernetes' own kinds", named(claimKind, "a"), claimGuard, false,
			Finalizer{claimGuard, "the claim protection controller", "no Pod refers to it", waitsForHolders, false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decider(withOwn).finalizerOn(tc.node, tc.name, tc.held)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := decider().finalizerOn(named(networkKind, "a"), portGuard, false).By; got !=
		"the controller of Port.openstack.k-orc.cloud objects" {
		t.Errorf("without a table the finalizer is removed by %q", got)
	}
}

func TestReleaseStep(t *testing.T) {
	holder := func(name string, change ...func(*Node)) neighbour {
		return neighbour{
			Node:  named(portKind, name, change...),
			edges: []relation.Edge{{Field: "spec.networkRef"}, {Field: "spec.networkRef"}, {Field: "spec.subnetRef"}},
		}
	}
	cases := map[string]struct {
		reason  string
		holders []neighbour
		want    string
	}{
		"none": {"there is nothing to do", nil, ""},
		"deleted": {
			"a holder that is being deleted needs no step", []neighbour{holder("a", deleted)}, "",
		},
		"one": {
			"the step names the fields, each once",
			[]neighbour{holder("a"), holder("b", deleted)},
			"delete Port/a, or change its spec.networkRef and spec.subnetRef, if that can be changed (ask its owner)",
		},
		"two": {
			"both have to be deleted",
			[]neighbour{holder("a"), holder("b")},
			"delete Port/a and Port/b, or change their references, if these can be changed (ask their owners)",
		},
		"many": {
			"the findings name the others",
			[]neighbour{holder("a"), holder("b"), holder("c"), holder("d"), holder("e")},
			"delete Port/a, Port/b, Port/c and 2 more, or change their references, if these can be changed (ask their owners)",
		},
		"controlled": {
			"the controller would create the Port again",
			[]neighbour{holder("a", controlledBy("v1", "ConfigMap", "maker"))},
			"delete ConfigMap/maker (ask its owner), which controls Port/a and would create it again",
		},
		"one controller": {
			"two Ports of one controller are one step",
			[]neighbour{
				holder("a", controlledBy("v1", "ConfigMap", "maker")), holder("b", controlledBy("v1", "ConfigMap", "maker")),
			},
			"delete ConfigMap/maker (ask its owner), which controls Port/a and would create it again",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := plainly(decider().releaseStep(tc.holders)); got != tc.want {
				t.Errorf("%s:\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStepToDelete(t *testing.T) {
	const step = "delete Port/a (ask its owner)"
	orphan := ownedBy(metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone"})
	cases := map[string]struct {
		reason string
		node   *Node
		want   string
	}{
		"deleted": {"the node has to be deleted", named(networkKind, "n", deleted), step},
		"ready": {
			"no user wants to delete the node", named(networkKind, "n"), "nothing to do. To delete Network/n, first " + step,
		},
		"not ready": {
			"deletion may be the remedy", named(networkKind, "n", withStatus(Failed)),
			step + "; then Network/n can be deleted",
		},
		"orphaned": {
			"the garbage collector wants to delete the node", named(networkKind, "n", orphan),
			step + "; then Network/n can be deleted",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.node(object.ID{Kind: "Secret", Namespace: "shop", Name: "gone"}).Status = NotFound
			if got := plainly(x.stepToDelete(tc.node, step)); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	x := decider()
	x.walk.Enter(named(portKind, "above"), func() {
		if got := x.stepToDelete(named(networkKind, "n"), step); got != step {
			t.Errorf("below another object the step is not optional: %q", got)
		}
	})
}

func TestNextStep(t *testing.T) {
	cases := map[string]struct {
		reason   string
		findings []*Finding
		want     string
	}{
		"none":  {"nothing was found", nil, ""},
		"first": {"a finding without a step is passed over", []*Finding{{}, {Next: "a"}, {Next: "b"}}, "a"},
		"root": {
			"the cause comes before the effect",
			[]*Finding{{Next: "a", Because: []*Finding{{}, {Next: "b", Because: []*Finding{{Next: "c"}}}}}},
			"c",
		},
		"urgent": {
			"a Secret is created before objects are deleted that need the Secret",
			[]*Finding{{Next: "delete Port/a"}, {Because: []*Finding{{Next: "create Secret/cloud", first: true}}}},
			"create Secret/cloud",
		},
		"urgent without a step": {"a flag alone is no step", []*Finding{{Next: "a"}, {first: true}}, "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := nextStep(tc.findings); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNothingToDo(t *testing.T) {
	cases := map[string]struct {
		node  *Node
		trial Trial
		want  string
	}{
		"allowed": {
			named(portKind, "a"),
			Trial{Outcome: Allowed},
			"nothing to do: Port/a is as its spec asks, and its deletion would be allowed now",
		},
		"untried": {
			named(portKind, "a"),
			Trial{Untried, "you may not delete it"},
			"nothing to do: Port/a is as its spec asks, and nothing visible refuses its deletion, " +
				"which was not tried: you may not delete it",
		},
		"not ready": {
			named(portKind, "a", withStatus(Unknown)),
			Trial{Outcome: Allowed},
			"read the log of the controller of Port.openstack.k-orc.cloud objects: the object tells no more",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := plainly(nothingToDo(tc.node, tc.trial)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDependencyFinding(t *testing.T) {
	port := named(portKind, "web", withStatus(InProgress))
	edges := []relation.Edge{{Field: "spec.networkRef"}, {Field: "spec.subnetRef"}}
	cases := map[string]struct {
		reason     string
		target     *Node
		circle     []object.ID
		text, next string
		topic      Topic
	}{
		"missing": {
			"the object has to be created", named(networkKind, "net", withStatus(NotFound)), nil,
			"waits for Network/net (spec.networkRef, spec.subnetRef), which does not exist",
			"create Network/net, or change spec.networkRef and spec.subnetRef of Port/web (ask its owner)", aboutDependency,
		},
		"unknown": {
			"another user may read the object",
			named(networkKind, "net", withStatus(Unknown), func(n *Node) { n.Message = "you may not read it" }), nil,
			"waits for Network/net (spec.networkRef, spec.subnetRef), whose status is unknown: you may not read it",
			"ask a user who may read Network/net whether it exists and is ready for Port/web", aboutDependency,
		},
		"circle": {
			"the step breaks the circle", named(networkKind, "net"),
			[]object.ID{named(networkKind, "net").ID, port.ID},
			"waits for Network/net (spec.networkRef, spec.subnetRef), and so they wait for each other in a circle: " +
				"Network/net -> Port/web -> Network/net",
			"break the circle: remove Network/net from spec.networkRef and spec.subnetRef of Port/web, " +
				"at least until Port/web is ready (ask its owner)", aboutCircle,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := dependency{neighbour: neighbour{Node: tc.target, edges: edges}, credentials: true}
			f := decider().dependencyFinding(t.Context(), port, d, tc.circle)
			if got := plainly(f.Text); got != tc.text {
				t.Errorf("%s:\ngot  %q\nwant %q", tc.reason, got, tc.text)
			}
			if got := plainly(f.Next); got != tc.next {
				t.Errorf("%s: next\ngot  %q\nwant %q", tc.reason, got, tc.next)
			}
			if f.Topic != tc.topic || f.first != (name == "missing") {
				t.Errorf("topic %s, first %t", f.Topic, f.first)
			}
		})
	}
}

func TestFindEach(t *testing.T) {
	many := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	odd := func(i int) *Finding {
		if i%2 == 0 {
			return nil
		}
		return &Finding{Text: strings.Repeat("i", i)}
	}
	if got := findEach(object.ID{}, many[:3], odd); len(got) != 2 || got[1].Text != "iii" {
		t.Errorf("of 3 items: %v", got)
	}
	got := findEach(object.ID{Name: "x"}, many, odd)
	last := got[len(got)-1]
	if len(got) != 6 || last.Text != "and 2 more" || last.Topic != aboutMore || last.About.Name != "x" {
		t.Errorf("of 12 items: %v", got)
	}
}

func TestTrialOf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		reason string
		err    error
		want   Outcome
	}{
		"allowed": {"the dry run succeeded", nil, Allowed},
		"policy": {
			"a ValidatingAdmissionPolicy refuses", apierrors.NewForbidden(pods, "a", errors.New("denied")), Refused,
		},
		"conflict": {"a webhook refuses with 409", apierrors.NewConflict(pods, "a", errors.New("in use")), Refused},
		"invalid":  {"a policy refuses with 422", apierrors.NewInvalid(podKind, "a", nil), Refused},
		"replaced": {
			"the uid is another one",
			apierrors.NewConflict(pods, "a", errors.New("the UID in the precondition (b) does not match the UID in record (c)")),
			Untried,
		},
		"no webhook": {
			"failurePolicy: Fail", apierrors.NewInternalError(errors.New("failed calling webhook \"w\"")), Refused,
		},
		"error":   {"the API server failed", apierrors.NewInternalError(errors.New("etcd")), Untried},
		"teapot":  {"a webhook chooses its code", errors.New(`admission webhook "w" denied the request: no`), Refused},
		"timeout": {"no answer is no refusal", errors.New("context deadline exceeded"), Untried},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := trialOf(tc.err)
			if got.Outcome != tc.want || (tc.err != nil) != (got.Text != "") {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

func TestReportedForce(t *testing.T) {
	edge := relation.Edge{Role: relation.Usage, Declarer: named(usageKind, "u").ID}
	ready, effective := condition1("Ready", "True", "", ""), condition1("Effective", "True", "", "")
	notReady, notEffective := condition1("Ready", "False", "R", "waits"), condition1("Effective", "False", "E", "no lock")
	cases := map[string]struct {
		reason     string
		conditions []metav1.Condition
		want       Force
	}{
		"none":      {"no operator runs", nil, Force{Why: notReported + "; check that the operator runs"}},
		"ready":     {"Ready decides where Effective is missing", []metav1.Condition{ready}, Force{InForce: true}},
		"effective": {"Effective decides", []metav1.Condition{notReady, effective}, Force{InForce: true}},
		"not ready": {"the reason of Ready", []metav1.Condition{notReady}, Force{Why: "Ready is False (R): waits"}},
		"both": {
			"Ready names the cause", []metav1.Condition{notEffective, notReady}, Force{Why: "Ready is False (R): waits"},
		},
		"ineffective": {
			"Ready does not help", []metav1.Condition{ready, notEffective}, Force{Why: "Effective is False (E): no lock"},
		},
		"something": {
			"other conditions do not count",
			[]metav1.Condition{condition1("Synced", "True", "", "")},
			Force{Why: notReported + "; check that the operator runs"},
		},
		"unknown word": {
			"Unknown is not True",
			[]metav1.Condition{condition1("Ready", "Unknown", "", "")},
			Force{Why: "Ready is Unknown"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.node(edge.Declarer).Conditions = tc.conditions
			if diff := cmp.Diff(tc.want, x.reportedForce(edge)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	if !decider().reportedForce(relation.Edge{Role: relation.Dependency}).InForce {
		t.Error("a dependency is always in force")
	}
}

func TestEnforced(t *testing.T) {
	if got := enforced(Trial{Outcome: Refused, Text: "no"}); got != (Force{InForce: true}) {
		t.Errorf("refused: %+v", got)
	}
	got := enforced(Trial{Outcome: Allowed})
	if got.InForce || !strings.Contains(got.Why, "webhook configuration or policy") {
		t.Errorf("allowed: %+v", got)
	}
	want := Force{InForce: true, Why: "as reported; the deletion was not tried: you may not"}
	if got := enforced(Trial{Untried, "you may not"}); got != want {
		t.Errorf("untried: %+v", got)
	}
}

func TestHoldForce(t *testing.T) {
	network := named(networkKind, "net", withFinalizers(portGuard))
	for finalizer, want := range map[string]Force{
		"":        {Why: "a reference, which does not prevent deletion"},
		"other":   {Why: "finalizer other is missing"},
		portGuard: {InForce: true},
	} {
		if got := holdForce(finalizer, network); got != want {
			t.Errorf("finalizer %q: got %+v, want %+v", finalizer, got, want)
		}
	}
}

func TestIsBad(t *testing.T) {
	cases := map[string]struct {
		condition metav1.Condition
		want      bool
	}{
		"ready":                 {condition1("Ready", "True", "", ""), false},
		"not ready":             {condition1("Ready", "False", "", ""), true},
		"unknown":               {condition1("Ready", "Unknown", "", ""), true},
		"stalled":               {condition1("Stalled", "True", "", ""), true},
		"not stalled":           {condition1("Stalled", "False", "", ""), false},
		"suspended Job":         {condition1("Suspended", "True", "", ""), false},
		"memory pressure":       {condition1("MemoryPressure", "True", "", ""), true},
		"no memory pressure":    {condition1("MemoryPressure", "False", "", ""), false},
		"namespace has content": {condition1("NamespaceContentRemaining", "True", "", ""), true},
		"namespace is empty":    {condition1("NamespaceContentRemaining", "False", "", ""), false},
		"external, done":        {condition1("Progressing", "False", "Success", ""), false},
		"external, waits":       {condition1("Progressing", "True", "Progressing", ""), true},
		"Deployment":            {condition1("Progressing", "True", "NewReplicaSetAvailable", ""), false},
		"drifted":               {condition1("Drifted", "True", "Immutable", ""), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isBad(tc.condition); got != tc.want {
				t.Errorf("%s=%s is bad: %t", tc.condition.Type, tc.condition.Status, got)
			}
		})
	}
}
