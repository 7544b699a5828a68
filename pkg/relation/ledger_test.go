package relation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// declarers is a ledger of declarers that a test puts into a map.
type declarers struct {
	relation.Ledger

	all    map[object.ID]client.Object
	used   map[object.ID][]schema.GroupKind
	woken  woken
	target string
}

var usageU = object.ID{Kind: "Usage", Name: "u"}

// newDeclarers returns a ledger in which every declarer needs ConfigMap "target", or the ConfigMap
// that d.target names.
func newDeclarers() *declarers {
	d := &declarers{all: map[object.ID]client.Object{}, used: map[object.ID][]schema.GroupKind{}, target: "target"}
	d.Force = relation.Force{Declared: &relation.Index{}, Exists: exists()}
	d.Mark = locked{}
	d.Declarer, d.Target = d.woken.add, func(object.ID) {}
	d.Get = func(id object.ID) client.Object { return d.all[id] }
	d.Use = func(id object.ID, kinds ...schema.GroupKind) { d.used[id] = kinds }
	d.Declaration = func(obj client.Object) relation.Declaration {
		return relation.Declaration{
			Kinds: []schema.GroupKind{configMap},
			Edges: []relation.Edge{{
				Declarer: object.Of(obj, usageU.GroupKind()), Source: relation.Named(inNS("source")),
				Target: relation.Named(inNS(d.target)),
			}},
		}
	}
	return d
}

func (d *declarers) put(uid types.UID) {
	d.all[usageU] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: usageU.Name, UID: uid}}
}

func (d *declarers) targets() []string {
	edges := d.Declared.Declared(usageU)
	names := make([]string, 0, len(edges))
	for _, e := range edges {
		names = append(names, e.Target.Name)
	}
	return names
}

func (d *declarers) check(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := d.targets(); !slices.Equal(got, want) {
		t.Errorf("%s: the targets are %v, want %v", when, got, want)
	}
}

// TestLedgerUpdate: the edges of a declarer follow the store, and the kinds in use follow the
// edges.
func TestLedgerUpdate(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	d.Update(usageU)
	d.check(t, "created", "target")
	d.target = "other"
	d.Update(usageU)
	d.check(t, "changed", "other")
	if diff := cmp.Diff([]schema.GroupKind{configMap}, d.used[usageU]); diff != "" {
		t.Errorf("kinds in use (-want +got):\n%s", diff)
	}
	delete(d.all, usageU)
	d.Update(usageU)
	d.check(t, "deleted")
	if len(d.used[usageU]) > 0 {
		t.Errorf("a deleted declarer uses %v", d.used[usageU])
	}
}

// TestLedgerRelease: a released declarer has no edges, whatever event comes late. The next declarer
// of its name has edges of its own.
func TestLedgerRelease(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	d.Update(usageU)
	d.Release(usageU, "1")
	d.Update(usageU)
	d.check(t, "released")
	if !d.Released(usageU, "1") || d.Released(usageU, "2") {
		t.Error("it is not the declarer with uid 1 that is released")
	}
	d.put("2")
	d.Update(usageU)
	d.check(t, "created again", "target")
	d.Release(usageU, "1")
	d.check(t, "the former one is released late", "target")
}

// TestLedgerReleaseDuringUpdate: Release waits for an Update that reads the same declarer, so that
// Update can't set the edges again.
func TestLedgerReleaseDuringUpdate(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	declaration, released := d.Declaration, make(chan struct{})
	d.Declaration = func(obj client.Object) relation.Declaration {
		go func() {
			d.Release(usageU, "1")
			close(released)
		}()
		select {
		case <-released:
			t.Error("Release did not wait")
		case <-time.After(10 * time.Millisecond):
		}
		return declaration(obj)
	}
	d.Update(usageU)
	<-released
	d.check(t, "released during Update")
}

// TestLedgerSourceDeleted: a deletion that the API server reported proves that the source is gone.
// An object that was missing in a list proves nothing.
func TestLedgerSourceDeleted(t *testing.T) {
	for told, want := range map[bool]bool{true: true, false: false} {
		d := newDeclarers()
		d.put("1")
		d.Update(usageU)
		d.Changed(relation.Change{Old: &relation.Object{ID: inNS("source"), UID: "s"}, Told: told})
		if got := d.SourceDeleted(usageU, "s"); got != want {
			t.Errorf("reported %t: SourceDeleted is %t, want %t", told, got, want)
		}
		if d.SourceDeleted(usageU, "another") {
			t.Error("another source is reported as deleted")
		}
	}
}

// TestLedgerChoices: a declarer with Choices is woken by an object that the declarer can choose
// now and could not before, and by no other change of the kind.
func TestLedgerChoices(t *testing.T) {
	obj := func(ns string, labels map[string]string) *relation.Object {
		return &relation.Object{ID: object.ID{Kind: "ConfigMap", Namespace: ns, Name: "cm"}, UID: "uid", Labels: labels}
	}
	wanted, other := map[string]string{"app": "x", "more": "y"}, map[string]string{"app": "y"}
	deleting := obj("ns", wanted)
	deleting.Deleting = true
	cases := map[string]struct {
		reason   string
		old, new *relation.Object
		want     int
	}{
		"created":           {"it matches", nil, obj("ns", wanted), 1},
		"labelled":          {"it matches now", obj("ns", other), obj("ns", wanted), 1},
		"recreated":         {"the former one could not be chosen", deleting, obj("ns", wanted), 1},
		"same":              {"it could be chosen before", obj("ns", wanted), obj("ns", wanted), 0},
		"another namespace": {"the selector does not look there", nil, obj("other", wanted), 0},
		"other labels":      {"it does not match", nil, obj("ns", other), 0},
		"deleting":          {"an object that is being deleted is not chosen", nil, deleting, 0},
		"deleted":           {"there is one object less", obj("ns", wanted), nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDeclarers()
			d.put("1")
			d.Declaration = func(client.Object) relation.Declaration {
				return relation.Declaration{Choices: []relation.Ref{{
					ID:       object.ID{Kind: "ConfigMap", Namespace: "ns"},
					Selector: &relation.Selector{Labels: map[string]string{"app": "x"}},
				}}}
			}
			d.Update(usageU)
			d.Changed(relation.Change{Old: c.old, New: c.new})
			if got := len(d.woken.names); got != c.want {
				t.Errorf("%s: woken %d times, want %d", c.reason, got, c.want)
			}
		})
	}
}

// TestLedgerChoicesEnd: a declarer that has chosen, or has chosen otherwise, is no longer woken by the objects
// that it could choose before.
func TestLedgerChoicesEnd(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	choosing := func(app string) func(client.Object) relation.Declaration {
		selector := &relation.Selector{Labels: map[string]string{"app": app}}
		choice := relation.Ref{ID: object.ID{Kind: "ConfigMap"}, Selector: selector}
		return func(client.Object) relation.Declaration { return relation.Declaration{Choices: []relation.Ref{choice}} }
	}
	for _, step := range []struct {
		reason      string
		declaration func(client.Object) relation.Declaration
		want        int
	}{
		{"it can choose", choosing("x"), 1},
		{"it chooses among others", choosing("y"), 0},
		{"it can choose again", choosing("x"), 1},
		{"it has chosen", func(client.Object) relation.Declaration { return relation.Declaration{} }, 0},
	} {
		d.Declaration = step.declaration
		d.Update(usageU)
		d.woken.takeWoken()
		d.Changed(relation.Change{New: &relation.Object{ID: inNS("new"), Labels: map[string]string{"app": "x"}}})
		if got := d.woken.takeWoken(); len(got) != step.want {
			t.Errorf("%s: woken %v", step.reason, got)
		}
	}
}

// TestLedgerSelectedSource: the end of one member of a selector is not the end of the source.
func TestLedgerSelectedSource(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	labels := map[string]string{"app": "x"}
	source := relation.Ref{ID: object.ID{Kind: "ConfigMap"}, Selector: &relation.Selector{Labels: labels}}
	d.Declaration = func(client.Object) relation.Declaration {
		return relation.Declaration{Edges: []relation.Edge{
			{Declarer: usageU, Source: source, Target: relation.Named(inNS("t"))},
		}}
	}
	d.Update(usageU)
	d.Changed(relation.Change{Old: &relation.Object{ID: inNS("one"), UID: "one", Labels: labels}, Told: true})
	if d.SourceDeleted(usageU, "one") {
		t.Error("the declarer names a selector, and not the member that was deleted")
	}
	if diff := cmp.Diff([]string{"Usage/u"}, d.woken.takeWoken()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// TestLedgerKindChanged: the declarers of a kind that was installed are read again, because their edges may
// lead to the kind now. Targets whose mark is wrong are woken as well.
func TestLedgerKindChanged(t *testing.T) {
	d := newDeclarers()
	d.put("1")
	stale := relation.Object{ID: inNS("stale"), Labels: map[string]string{"locked": "true"}}
	right := relation.Object{ID: inNS("target"), Labels: map[string]string{"locked": "true"}}
	d.Exists = exists(stale, right)
	var targets woken
	d.Target = targets.add
	d.KindChanged(configMap, usageU)
	d.check(t, "the kind was installed", "target")
	if diff := cmp.Diff([]string{"Usage/u"}, d.woken.takeWoken()); diff != "" {
		t.Errorf("woken declarers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap/stale", "ConfigMap/target"}, targets.takeWoken()); diff != "" {
		t.Errorf("woken targets (-want +got):\n%s", diff)
	}
	d.KindChanged(configMap)
	if diff := cmp.Diff([]string{"ConfigMap/stale"}, targets.takeWoken()); diff != "" || d.woken.takeWoken() != nil {
		t.Errorf("without declarers: woken targets (-want +got):\n%s", diff)
	}
}

// TestLedgerWronglyMarked finds marked objects that no edge holds, of the kinds that have targets.
func TestLedgerWronglyMarked(t *testing.T) {
	d := newDeclarers()
	d.Exists = exists(
		relation.Object{ID: inNS("stale"), Labels: map[string]string{"locked": "true"}},
		relation.Object{ID: inNS("target"), Labels: map[string]string{"locked": "true"}},
		relation.Object{ID: inNS("plain")},
	)
	if got := d.WronglyMarked(); got != nil {
		t.Errorf("no kind has targets, and %v are wrong", got)
	}
	d.put("1")
	d.Update(usageU)
	if diff := cmp.Diff([]object.ID{inNS("stale")}, d.WronglyMarked()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLedgerHold: while a declarer can't be read, no object is known to be free.
func TestLedgerHold(t *testing.T) {
	d, unread := newDeclarers(), false
	d.Unread = func() bool { return unread }
	obj := relation.Object{ID: inNS("target")}
	if got := d.Hold(obj); got != relation.Free {
		t.Errorf("without a declarer: %d, want Free", got)
	}
	unread = true
	if got := d.Hold(obj); got != relation.Undecided {
		t.Errorf("with an unreadable declarer: %d, want Undecided", got)
	}
}

// TestRingEnds: a ring ends when every declarer of its edges is being deleted.
func TestRingEnds(t *testing.T) {
	f := relation.Force{Declared: &relation.Index{}, Exists: exists()}
	edge := func(name, from, to string) relation.Edge {
		id := object.ID{Kind: "Usage", Name: name}
		e := relation.Edge{Declarer: id, Source: relation.Named(inNS(from)), Target: relation.Named(inNS(to))}
		f.Declared.Set(id, []relation.Edge{e})
		return e
	}
	first := edge("ab", "a", "b")
	edge("ba", "b", "a")
	outside := edge("bc", "b", "c")
	going := map[string]bool{"ab": true}
	ends := func(e relation.Edge) bool {
		t.Helper()
		ends, err := f.RingEnds(t.Context(), e, func(id object.ID) bool { return going[id.Name] })
		if err != nil {
			t.Fatal(err)
		}
		return ends
	}
	if ends(first) {
		t.Error("the ring ends although Usage ba is not being deleted")
	}
	going["ba"] = true
	if !ends(first) || ends(outside) {
		t.Error("the ring of a and b does not end, or an edge outside of a ring does")
	}
}
