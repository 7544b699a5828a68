package external

import (
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const held = "example.com/subnet"

var (
	subnets  = openstackv1alpha1.GroupVersion.WithKind("Subnet")
	networks = openstackv1alpha1.GroupVersion.WithKind("Network")
	used     = object.ID{Group: networks.Group, Kind: networks.Kind, Namespace: "ns", Name: "net"}
	user     = object.ID{Group: subnets.Group, Kind: subnets.Kind, Namespace: "ns", Name: "sub"}
)

// newHub returns one in which Subnets hold Networks.
func newHub() *hub {
	h := &New(nil, Options{}).hub
	holdNetworks(h)
	return h
}

// holdNetworks has Subnets hold Networks.
func holdNetworks(h *hub) {
	holds := relation.Relation{Name: "SubnetNetwork", Finalizer: held}
	h.relations[holds.Name], h.guards = holds, []string{held}
	h.members[subnets.GroupKind()] = &member{gvk: subnets, own: true, relations: []relation.Relation{holds}}
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

// TestInUse: nobody is let go on the word of a watch that may not have heard all.
func TestInUse(t *testing.T) {
	c := unreachable(t)
	edge := relation.Edge{Relation: "SubnetNetwork", Declarer: user, Target: relation.Named(used)}
	cases := map[string]struct {
		reason  string
		edges   []relation.Edge
		left    bool
		want    bool
		unknown bool
	}{
		"never seen":      {"whether anybody refers to it is not known", nil, false, false, true},
		"referred to":     {"a watch has shown it, which is enough", []relation.Edge{edge}, false, true, false},
		"the last went":   {"a watch has shown that", nil, true, false, false},
		"one went of two": {"the other is still there", []relation.Edge{edge}, true, true, false},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHub()
			h.index.Set(user, x.edges)
			if x.left {
				h.left[hold{used, held}] = true
			}
			for range 2 { // A failure must not be taken for an answer later.
				got, err := h.inUse(t.Context(), c, used, held)
				asked := err != nil && strings.Contains(err.Error(), "list who refers to Network/")
				if got != x.want || asked != x.unknown || (err != nil && !asked) {
					t.Errorf("%s: in use %t, %v", x.reason, got, err)
				}
			}
		})
	}
}

// TestContentChanged: of Secrets only the metadata is known. Guards of ours are no
// reason to log in again, and everything else is.
func TestContentChanged(t *testing.T) {
	secret := func(version string, finalizers ...string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: version, Finalizers: finalizers}}
	}
	const other, theirs = "example.com/port", "elsewhere.example/theirs"
	cases := map[string]struct {
		reason   string
		old, now client.Object
		want     bool
	}{
		"new":                {"it is not known", nil, secret("2"), true},
		"again":              {"a watch began anew", nil, secret("1"), false},
		"edited":             {"what, the metadata does not say", secret("1"), secret("2"), true},
		"the same":           {"a watch repeats itself", secret("1"), secret("1"), false},
		"guarded":            {"by us, in a request of its own", secret("1"), secret("2", held), false},
		"guarded twice":      {"by two kinds of ours", secret("1", held), secret("2", held, other), false},
		"another's":          {"in whose request there may be more", secret("1"), secret("2", theirs), true},
		"ours and another's": {"one of them is not ours", secret("1"), secret("2", held, theirs), true},
		"released":           {"and perhaps stripped by an edit", secret("1", held), secret("2"), true},
		"one for another":    {"one went", secret("1", held), secret("2", other), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, id := newHub(), object.ID{Kind: "Secret", Namespace: "ns", Name: "s"}
			h.guards = append(h.guards, other)
			h.contents[id] = "1"
			if got := h.contentChanged(id, c.old, c.now); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
			if kept := h.version(id) == "1"; kept == c.want {
				t.Errorf("%s: the version is %s", c.reason, h.version(id))
			}
		})
	}
}

// TestConcernsItself: one's own status wakes nobody.
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
	h := &hub{group: "example.com"}
	for reason, c := range map[string]struct {
		old, now client.Object
		want     bool
	}{
		"it came": {nil, before, true},
		"it went": {before, nil, true},
		"a status": {before, network(func(n *openstackv1alpha1.Network) {
			n.ResourceVersion, n.Status.Conditions = "2", []metav1.Condition{{Type: "Available"}}
		}), false},
		"a spec":      {before, network(func(n *openstackv1alpha1.Network) { n.Generation = 2 }), true},
		"another one": {before, network(func(n *openstackv1alpha1.Network) { n.UID = "b" }), true},
		"a finalizer": {before, network(func(n *openstackv1alpha1.Network) { n.Finalizers = []string{held} }), true},
		"a deletion":  {before, network(func(n *openstackv1alpha1.Network) { n.DeletionTimestamp = &now }), true},
		"the intent of another object was removed": {intended("b"), before, true},
		"the operator has withdrawn its intent":    {intended("a"), before, false},
	} {
		if got := h.concernsItself(c.old, c.now); got != c.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}

// TestTarget: what a reference stands for, and what it lacks to be referred to.
func TestTarget(t *testing.T) {
	network := schema.GroupKind{Group: "test", Kind: "Network"}
	id := object.ID{Group: "test", Kind: "Network", Namespace: "ns", Name: "net"}
	edge := relation.Edge{Target: relation.Named(id)}
	of := func(change func(*openstackv1alpha1.Network)) *openstackv1alpha1.Network {
		n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "net", Namespace: "ns"}}
		change(n)
		return n
	}
	begins := func(*openstackv1alpha1.Network) {}
	made := func(n *openstackv1alpha1.Network) { n.Status.ID = new("1") }
	serves := func(n *openstackv1alpha1.Network) {
		made(n)
		n.Status.Conditions = []metav1.Condition{{Type: condition.Available, Status: metav1.ConditionTrue}}
	}
	leaves := func(n *openstackv1alpha1.Network) {
		serves(n)
		n.DeletionTimestamp = &metav1.Time{}
	}
	cases := map[string]struct {
		reason        string
		object        *openstackv1alpha1.Network
		rel           relation.Relation
		before, after string // for a source that is not made yet, and one that is
	}{
		"absent":           {"nothing is there", nil, relation.Relation{}, "created", "created"},
		"made":             {"it does not serve", of(made), relation.Relation{}, "ready", "ready"},
		"serves":           {"it can be used", of(serves), relation.Relation{}, "", ""},
		"leaves":           {"nothing new is to use it", of(leaves), relation.Relation{}, "ready", ""},
		"later, absent":    {"it has to be there", nil, relation.Relation{Later: true}, "created", "created"},
		"later, made":      {"it may wait for the source", of(made), relation.Relation{Later: true}, "", ""},
		"later, not begun": {"it has no id", of(begins), relation.Relation{Later: true}, "ready", "ready"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
			if c.object != nil {
				if err := store.Add(c.object); err != nil {
					t.Fatal(err)
				}
			}
			h := &hub{members: map[schema.GroupKind]*member{network: {own: true, store: store}}}
			got := h.target(edge, c.rel)
			if before, after := got.lack(false), got.lack(true); before != c.before || after != c.after {
				t.Errorf("%s: it has to be %q before and %q after, want %q and %q", c.reason, before, after, c.before, c.after)
			}
		})
	}
}

// TestReplacedUnseen: a watch that was cut off tells of another object of the name as of a
// change. What is remembered of the former goes.
func TestReplacedUnseen(t *testing.T) {
	h := newHub()
	var gone []types.UID
	m := h.members[subnets.GroupKind()]
	m.own = false // It has no queue.
	m.forget = func(_ object.ID, uid types.UID) { gone = append(gone, uid) }
	of := func(uid types.UID) *openstackv1alpha1.Subnet {
		return &openstackv1alpha1.Subnet{ObjectMeta: metav1.ObjectMeta{Namespace: user.Namespace, Name: user.Name, UID: uid}}
	}
	h.changed(m, nil, of("first"))
	h.changed(m, of("first"), of("second"))
	h.changed(m, of("second"), of("second"))
	if !slices.Equal(gone, []types.UID{"first"}) {
		t.Errorf("forgotten: %v", gone)
	}
}
