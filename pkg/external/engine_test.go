package external

import (
	"fmt"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const held = "example.com/subnet"

var (
	subnets  = openstackv1alpha1.GroupVersion.WithKind("Subnet")
	networks = openstackv1alpha1.GroupVersion.WithKind("Network")
	used     = object.ID{Group: networks.Group, Kind: networks.Kind, Namespace: "ns", Name: "net"}
)

// attach adds the kind of a reconciler to its [Engine], with the objects of a store. The test reports
// changes of these objects by engine.Engine.Observe.
func attach(r *networkReconciler, store toolscache.Store) {
	k := r.register()
	k.Store = store
	r.engine.core.Add(k)
}

// newStore returns an empty store of objects.
func newStore() toolscache.Store { return toolscache.NewStore(toolscache.MetaNamespaceKeyFunc) }

// addSubnets adds the kind Subnet to an [Engine]. A Subnet refers to the Network in the variable used.
func addSubnets(e *Engine) {
	toUsed := func(obj client.Object, _ relation.Kinds) []relation.Edge {
		return Named(obj, subnets.GroupKind(), networks.GroupKind(), "spec", used.Name)
	}
	e.core.Add(engine.Kind{
		GVK: subnets, Example: &openstackv1alpha1.Subnet{}, Store: newStore(),
		Relations: []relation.Relation{{Name: "SubnetNetwork", Finalizer: held, Extract: toUsed}},
	})
}

// unreachable returns a client of an API server that does not answer.
func unreachable(t *testing.T) client.Client {
	t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(subnets, meta.RESTScopeNamespace)
	c, err := client.New(&clientrest.Config{Host: closed.Addr().String()}, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConcernsItself: a write of the object's own status does not requeue the object.
func TestConcernsItself(t *testing.T) {
	network := func(change func(*openstackv1alpha1.Network)) client.Object {
		n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Generation: 1, UID: "a", ResourceVersion: "1"}}
		change(n)
		return n
	}
	intended := func(uid string) client.Object {
		return network(func(n *openstackv1alpha1.Network) {
			n.Annotations = map[string]string{"example.com/creation-intent": `{"uid":"` + uid + `"}`}
		})
	}
	before := network(func(*openstackv1alpha1.Network) {})
	now := metav1.Now()
	e := New(nil, Options{Group: "example.com"})
	for reason, c := range map[string]struct {
		old, now client.Object
		want     bool
	}{
		"a status": {before, network(func(n *openstackv1alpha1.Network) {
			n.ResourceVersion, n.Status.Conditions = "2", []metav1.Condition{{Type: "Available"}}
		}), false},
		"a spec":      {before, network(func(n *openstackv1alpha1.Network) { n.Generation = 2 }), true},
		"a finalizer": {before, network(func(n *openstackv1alpha1.Network) { n.Finalizers = []string{held} }), true},
		"a deletion":  {before, network(func(n *openstackv1alpha1.Network) { n.DeletionTimestamp = &now }), true},
		"an owner reference": {network(func(n *openstackv1alpha1.Network) {
			n.OwnerReferences = []metav1.OwnerReference{{UID: "owner"}}
		}), before, true},
		"a label": {before, network(func(n *openstackv1alpha1.Network) { n.Labels = map[string]string{"a": "b"} }), false},
		"the intent of another object was removed": {intended("b"), before, true},
		"the operator has withdrawn its intent":    {intended("a"), before, false},
	} {
		if got := e.concernsItself(c.old, c.now); got != c.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}

// TestObservedEdges: a target in status.observedDependencies that the spec no longer names is still guarded,
// by each finalizer of the kind. Targets that the spec names, and targets of other packs, have no such edge.
func TestObservedEdges(t *testing.T) {
	e := New(nil, Options{Group: "example.com"})
	k := &kind{gvk: subnets, relations: []relation.Relation{
		{Name: "subnet-network", Role: relation.Dependency, Finalizer: held},
		{Name: "subnet-router", Role: relation.Dependency, Finalizer: held},
		{Name: "subnet-owner", Role: relation.Owner, Finalizer: "example.com/owner"},
		{Name: "subnet-secret", Role: relation.Dependency},
	}}
	e.addKind(k)
	e.addKind(&kind{gvk: networks})
	id := object.ID{Group: subnets.Group, Kind: subnets.Kind, Namespace: "ns", Name: "s"}
	subnet := &openstackv1alpha1.Subnet{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
	for _, d := range []string{"named", "former"} {
		subnet.Status.ObservedDependencies = append(subnet.Status.ObservedDependencies,
			sharedv1alpha1.ObservedDependency{Group: networks.Group, Kind: "Network", Name: d, ID: d})
	}
	subnet.Status.ObservedDependencies = append(subnet.Status.ObservedDependencies,
		sharedv1alpha1.ObservedDependency{Kind: "Secret", Name: "cloud", ID: "7"})
	named := Named(subnet, subnets.GroupKind(), networks.GroupKind(), "spec.networkRef", "", "named")
	if len(named) != 1 || named[0].Target.Name != "named" || named[0].Field != "spec.networkRef" {
		t.Fatalf("named: %v", named)
	}
	edges := e.observedEdges(k, id, subnet, named)
	got := make([]string, 0, len(edges))
	for _, edge := range edges {
		got = append(got, fmt.Sprintf("%s %s %s -> %s (%s)",
			edge.Relation, edge.Role, edge.Source.Short(), edge.Target.Short(), edge.Field))
	}
	want := []string{
		"subnet-network Dependency Subnet/s -> Network/former (status.observedDependencies)",
		"subnet-owner Owner Subnet/s -> Network/former (status.observedDependencies)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAddKindAgain: a kind in another version replaces the kind, because the former version is no longer
// served. The other kinds stay in order.
func TestAddKindAgain(t *testing.T) {
	e := New(nil, Options{Group: "example.com"})
	later := networks
	later.Version = "v2"
	for _, gvk := range []schema.GroupVersionKind{networks, subnets, later} {
		e.addKind(&kind{gvk: gvk})
	}
	got := make([]schema.GroupVersionKind, 0, 2)
	for _, k := range *e.kinds.Load() {
		got = append(got, k.gvk)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{subnets, later}, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if k := e.kindOf(networks.GroupKind()); k == nil || k.gvk != later {
		t.Errorf("the kind is %v", k)
	}
	if e.kindOf(schema.GroupKind{Group: "other", Kind: networks.Kind}) != nil {
		t.Error("a kind of another group is a kind of the engine")
	}
}
