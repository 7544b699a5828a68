package relation_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestForce is the truth table of Force.Of: an edge holds its target if its source exists, and
// the answer is Undecided if the presence of the source is Unknown.
func TestForce(t *testing.T) {
	app := map[string]string{"app": "x"}
	user := relation.Object{ID: inNS("user"), UID: "user", Labels: app}
	named, gone := relation.Named(user.ID), relation.Named(inNS("gone"))
	unread := relation.Named(object.ID{Kind: "Secret", Namespace: "ns", Name: "s"})
	selecting := func(kind, app string) relation.Ref {
		return relation.Ref{
			ID: object.ID{Kind: kind, Namespace: "ns"}, Selector: &relation.Selector{Labels: map[string]string{"app": app}},
		}
	}
	cases := map[string]struct {
		edge relation.Edge
		want relation.Hold
	}{
		"no source":                  {relation.Edge{}, relation.Held},
		"source there":               {relation.Edge{Source: named}, relation.Held},
		"source of that uid":         {relation.Edge{Source: named, SourceUID: "user"}, relation.Held},
		"another one of that name":   {relation.Edge{Source: named, SourceUID: "former"}, relation.Free},
		"source gone":                {relation.Edge{Source: gone}, relation.Free},
		"kind not read":              {relation.Edge{Source: unread}, relation.Undecided},
		"one is selected":            {relation.Edge{Source: selecting("ConfigMap", "x")}, relation.Held},
		"none is selected":           {relation.Edge{Source: selecting("ConfigMap", "y")}, relation.Free},
		"selects of a kind not read": {relation.Edge{Source: selecting("Secret", "x")}, relation.Undecided},
		"content there":              {relation.Edge{Source: named, Content: &named}, relation.Held},
		"content gone":               {relation.Edge{Source: named, Content: &gone}, relation.Free},
		"content not known":          {relation.Edge{Source: named, Content: &unread}, relation.Undecided},
		"content there, source gone": {relation.Edge{Source: gone, Content: &named}, relation.Free},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := relation.Force{Declared: &relation.Index{}, Exists: exists(user)}
			if got := f.Of(c.edge); got != c.want {
				t.Errorf("the edge's hold is %d, want %d", got, c.want)
			}
			declarer := object.ID{Kind: "Usage", Name: "u"}
			c.edge.Declarer, c.edge.Target = declarer, relation.Named(inNS("target"))
			f.Declared.Set(declarer, []relation.Edge{c.edge})
			target := relation.Object{ID: inNS("target")}
			if got := f.On(target); got != c.want {
				t.Errorf("the target's hold is %d, want %d", got, c.want)
			}
			if holding := len(f.Holding(target)) == 1; holding != (c.want != relation.Free) {
				t.Errorf("held by the edge: %t", holding)
			}
		})
	}
}

// locked is a mark for tests: a label that objects named "target" should have.
type locked struct{}

// On implements relation.Mark.
func (locked) On(obj relation.Object) bool { return obj.Labels["locked"] == "true" }

// Wrong implements relation.Mark.
func (l locked) Wrong(obj relation.Object) bool { return l.On(obj) != (obj.ID.Name == "target") }

// Corrected implements relation.Mark.
func (l locked) Corrected(before, now relation.Object) bool {
	return l.On(before) != l.On(now) && !l.Wrong(now)
}

// Selector implements relation.Mark.
func (locked) Selector() *relation.Selector {
	return &relation.Selector{Labels: map[string]string{"locked": "true"}}
}

// woken records the objects that a Waker wakes.
type woken struct {
	mu    sync.Mutex
	names []string
}

func (w *woken) add(id object.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, id.Kind+"/"+id.Name)
}

// takeWoken returns the objects woken since the last call, each once.
func (w *woken) takeWoken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.names
	w.names = nil
	slices.Sort(names)
	return slices.Compact(names)
}

// TestWaker: a change wakes exactly the objects that the change concerns.
func TestWaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := map[string]string{"app": "x"}
		user := relation.Object{ID: inNS("user"), UID: "user"}
		target := relation.Object{ID: inNS("target"), UID: "target", Labels: app}
		stale := relation.Object{ID: inNS("stale"), UID: "stale", Labels: map[string]string{"locked": "true"}}
		usage := object.ID{Kind: "Usage", Name: "u"}
		var heard woken
		kinds := 0
		w := relation.Waker{
			Force: relation.Force{Declared: &relation.Index{}, Exists: exists(user, target, stale)},
			Mark:  locked{}, Declarer: heard.add, Target: heard.add, KindsChanged: func() { kinds++ },
		}
		is := func(what string, want ...string) {
			t.Helper()
			<-time.After(time.Second) // Of the bubble: batches end.
			if diff := cmp.Diff(want, heard.takeWoken()); diff != "" {
				t.Errorf("%s: woken (-want +got):\n%s", what, diff)
			}
		}
		edge := relation.Edge{Declarer: usage, Source: relation.Named(user.ID), Target: relation.Named(target.ID)}
		w.Declare(usage, []relation.Edge{edge})
		is("declared", "ConfigMap/target")
		w.Declare(usage, []relation.Edge{edge})
		is("declared again")
		w.Changed(relation.Change{Old: &user})
		is("the source went", "ConfigMap/target", "Usage/u")
		w.Changed(relation.Change{New: &target})
		is("the target came, and lacks its mark", "ConfigMap/target", "Usage/u")
		w.Changed(relation.Change{New: &relation.Object{ID: inNS("other")}})
		is("somebody else came")

		edge.Target = relation.Ref{
			ID: object.ID{Kind: "ConfigMap", Namespace: "ns"}, Selector: &relation.Selector{Labels: app},
		}
		w.Declare(usage, []relation.Edge{edge})
		is("a selector takes the name's place", "ConfigMap/stale", "ConfigMap/target")
		w.KindChanged(target.ID.GroupKind())
		is("the kind was read", "ConfigMap/stale")
		w.Declare(usage, nil)
		is("declared no more", "ConfigMap/stale", "ConfigMap/target")
		if kinds != 2 {
			t.Errorf("the kinds that are held changed %d times, want 2", kinds)
		}
	})
}

// TestWakerRing: the declarer of an edge is woken when another edge closes a ring with this
// edge.
func TestWakerRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard woken
		w := relation.Waker{Force: chain(3), Mark: locked{}, Declarer: heard.add, Target: func(object.ID) {}}
		last := object.ID{Kind: "Usage", Name: "last"}
		w.Declare(last, []relation.Edge{{Declarer: last, Source: link(2), Target: link(0)}})
		<-time.After(time.Second)
		if diff := cmp.Diff([]string{"Usage/0", "Usage/1", "Usage/last"}, heard.takeWoken()); diff != "" {
			t.Errorf("woken (-want +got):\n%s", diff)
		}
	})
}

// TestWakerContainers: a Namespace that contains a protected object is woken with the object. A change of the
// Namespace concerns the declarers only if the mark of the Namespace changed, because thousands of edges
// may have the Namespace as target.
func TestWakerContainers(t *testing.T) {
	usage, namespace := object.ID{Kind: "Usage", Name: "u"}, object.ID{Kind: "Namespace", Name: "ns"}
	content := relation.Named(inNS("target"))
	var heard woken
	w := relation.Waker{
		Force: relation.Force{Declared: &relation.Index{}, Exists: exists()}, Mark: locked{},
		Declarer: heard.add, Target: heard.add,
	}
	user := relation.Named(inNS("user"))
	w.Declared.Set(usage, []relation.Edge{
		{Declarer: usage, Source: user, Target: content},
		{Declarer: usage, Source: user, Target: relation.Named(namespace), Content: &content},
	})
	of := func(id object.ID, labels ...string) *relation.Object {
		o := &relation.Object{ID: id, Labels: map[string]string{}}
		for _, l := range labels {
			o.Labels[l] = "true"
		}
		return o
	}
	for _, c := range []struct {
		reason string
		change relation.Change
		want   []string
	}{
		{"a label of the Namespace", relation.Change{Old: of(namespace), New: of(namespace, "x")}, nil},
		{
			"a wrong mark of the Namespace",
			relation.Change{Old: of(namespace), New: of(namespace, "locked")},
			[]string{"Namespace/ns", "Usage/u"},
		},
		{
			"the mark of the Namespace is corrected", relation.Change{Old: of(namespace, "locked"), New: of(namespace)}, nil,
		},
		{"the Namespace went", relation.Change{Old: of(namespace)}, []string{"Namespace/ns", "Usage/u"}},
		{"the target went", relation.Change{Old: of(content.ID)}, []string{"Namespace/ns", "Usage/u"}},
		{
			"the target has its mark", relation.Change{Old: of(content.ID), New: of(content.ID, "locked")}, nil,
		},
		{
			"the target lost its mark",
			relation.Change{Old: of(content.ID, "locked"), New: of(content.ID)},
			[]string{"ConfigMap/target", "Namespace/ns", "Usage/u"},
		},
		{
			"the source went", relation.Change{Old: of(user.ID)}, []string{"ConfigMap/target", "Namespace/ns", "Usage/u"},
		},
		{"the same labels", relation.Change{Old: of(content.ID, "locked"), New: of(content.ID, "locked")}, nil},
		{"another label", relation.Change{Old: of(content.ID, "locked"), New: of(content.ID, "locked", "x")}, nil},
		{"another label of the source", relation.Change{Old: of(user.ID), New: of(user.ID, "x")}, nil},
	} {
		w.Changed(c.change)
		if diff := cmp.Diff(c.want, heard.takeWoken()); diff != "" {
			t.Errorf("%s: woken (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestWakerSelectedEnds: a new member of a selector may close a ring, so the declarers behind the member and
// behind the targets are woken a little later.
func TestWakerSelectedEnds(t *testing.T) {
	app := map[string]string{"app": "x"}
	member := relation.Object{ID: inNS("member"), Labels: app}
	selected := relation.Ref{ID: object.ID{Kind: "ConfigMap"}, Selector: &relation.Selector{Labels: app}}
	for name, edges := range map[string][2]relation.Edge{
		"source": {{Source: selected, Target: link(1)}, {Source: link(1), Target: link(2)}},
		"target": {{Source: link(1), Target: selected}, {Source: relation.Named(member.ID), Target: link(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard woken
				w := relation.Waker{
					Force: relation.Force{Declared: &relation.Index{}, Exists: exists(member)}, Mark: locked{},
					Declarer: heard.add, Target: func(object.ID) {},
				}
				for i, e := range edges {
					e.Declarer = object.ID{Kind: "Usage", Name: []string{"first", "behind"}[i]}
					w.Declared.Set(e.Declarer, []relation.Edge{e})
				}
				w.Changed(relation.Change{New: &member})
				<-time.After(time.Second)
				if diff := cmp.Diff([]string{"Usage/behind", "Usage/first"}, heard.takeWoken()); diff != "" {
					t.Errorf("woken (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWakerRebound: another SourceUID wakes the targets, and no declarer of a possible ring.
func TestWakerRebound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var declarers, targets woken
		w := relation.Waker{Force: chain(3), Mark: locked{}, Declarer: declarers.add, Target: targets.add}
		first := object.ID{Kind: "Usage", Name: "0"}
		edge := w.Declared.Declared(first)[0]
		edge.SourceUID = "another"
		w.Declare(first, []relation.Edge{edge})
		<-time.After(time.Second)
		if got := declarers.takeWoken(); got != nil {
			t.Errorf("the ends are the same, and %v are woken", got)
		}
		if diff := cmp.Diff([]string{"ConfigMap/cm1"}, targets.takeWoken()); diff != "" {
			t.Errorf("woken targets (-want +got):\n%s", diff)
		}
	})
}
