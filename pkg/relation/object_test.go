package relation_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func TestObjectOf(t *testing.T) {
	yes, created := true, metav1.Unix(1700000000, 0)
	meta := &metav1.ObjectMeta{
		Namespace: "n", Name: "a", UID: "u1", ResourceVersion: "7",
		Labels: map[string]string{"k": "v"}, CreationTimestamp: created,
		OwnerReferences: []metav1.OwnerReference{
			{UID: "owner"}, {UID: "controller", Controller: &yes},
		},
	}
	want := relation.Object{
		ID: object.ID{Group: "g", Kind: "K", Namespace: "n", Name: "a"}, UID: "u1", Version: "7",
		Labels: map[string]string{"k": "v"}, Controller: "controller", Created: created,
	}
	gk := schema.GroupKind{Group: "g", Kind: "K"}
	if diff := cmp.Diff(want, relation.ObjectOf(gk, meta)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	meta.DeletionTimestamp, meta.OwnerReferences = &created, meta.OwnerReferences[:1]
	want.Deleting, want.Controller = true, ""
	if diff := cmp.Diff(want, relation.ObjectOf(gk, meta)); diff != "" {
		t.Errorf("being deleted, without a controller (-want +got):\n%s", diff)
	}
}

func TestOlderFirst(t *testing.T) {
	at := func(seconds int64, name string) relation.Object {
		return relation.Object{ID: object.ID{Kind: "K", Name: name}, Created: metav1.Unix(seconds, 0)}
	}
	want := []relation.Object{at(1, "z"), at(2, "a"), at(2, "b"), at(3, "a")}
	got := []relation.Object{want[3], want[2], want[0], want[1]}
	slices.SortFunc(got, relation.OlderFirst)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by age, then by name (-want +got):\n%s", diff)
	}
}

func TestSelectorMatches(t *testing.T) {
	obj := relation.Object{Labels: map[string]string{"app": "web", "empty": ""}, Controller: "c1"}
	cases := map[string]struct {
		reason   string
		selector relation.Selector
		want     bool
	}{
		"nothing asked": {"an empty selector would select everything, so it selects nothing", relation.Selector{}, false},
		"empty map":     {"no labels are asked for", relation.Selector{Labels: map[string]string{}}, false},
		"label":         {"the label is there", relation.Selector{Labels: map[string]string{"app": "web"}}, true},
		"other value":   {"the value differs", relation.Selector{Labels: map[string]string{"app": "db"}}, false},
		"one of two": {
			"all labels must be there", relation.Selector{Labels: map[string]string{"app": "web", "x": "y"}}, false,
		},
		"empty value": {
			"a label with an empty value is a label", relation.Selector{Labels: map[string]string{"empty": ""}}, true,
		},
		"missing is not empty": {
			"an absent label is not one with an empty value", relation.Selector{Labels: map[string]string{"no": ""}}, false,
		},
		"controller":       {"the controller is asked for alone", relation.Selector{Controller: "c1"}, true},
		"other controller": {"it belongs to somebody else", relation.Selector{Controller: "c2"}, false},
		"both":             {"both hold", relation.Selector{Labels: map[string]string{"app": "web"}, Controller: "c1"}, true},
		"only labels hold": {
			"both must hold", relation.Selector{Labels: map[string]string{"app": "web"}, Controller: "c2"}, false,
		},
		"only the controller holds": {
			"both must hold", relation.Selector{Labels: map[string]string{"app": "db"}, Controller: "c1"}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.selector.Matches(obj); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
	if (&relation.Selector{}).Matches(relation.Object{}) {
		t.Error("an empty selector selects an object without labels")
	}
}

func TestRefMatches(t *testing.T) {
	obj := relation.Object{
		ID: object.ID{Group: "g", Kind: "K", Namespace: "n", Name: "a"}, Labels: map[string]string{"app": "web"},
	}
	web := &relation.Selector{Labels: map[string]string{"app": "web"}}
	cases := map[string]struct {
		reason string
		ref    relation.Ref
		want   bool
	}{
		"itself": {"it is named", relation.Named(obj.ID), true},
		"other name": {
			"another is named", relation.Named(object.ID{Group: "g", Kind: "K", Namespace: "n", Name: "b"}), false,
		},
		"other group": {
			"the group counts", relation.Named(object.ID{Group: "h", Kind: "K", Namespace: "n", Name: "a"}), false,
		},
		"no namespace": {
			"a name without a namespace is another object",
			relation.Named(object.ID{Group: "g", Kind: "K", Name: "a"}), false,
		},
		"set": {
			"it is selected", relation.Ref{ID: object.ID{Group: "g", Kind: "K", Namespace: "n"}, Selector: web}, true,
		},
		"set everywhere": {
			"no namespace stands for all", relation.Ref{ID: object.ID{Group: "g", Kind: "K"}, Selector: web}, true,
		},
		"set elsewhere": {
			"the namespace counts",
			relation.Ref{ID: object.ID{Group: "g", Kind: "K", Namespace: "m"}, Selector: web},
			false,
		},
		"set of others": {"the kind counts", relation.Ref{ID: object.ID{Group: "g", Kind: "L"}, Selector: web}, false},
		"set of nothing": {
			"an empty selector",
			relation.Ref{ID: object.ID{Group: "g", Kind: "K"}, Selector: &relation.Selector{}},
			false,
		},
		"no end": {"nothing is meant", relation.Ref{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.ref.Matches(obj); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestRefString(t *testing.T) {
	id := object.ID{Group: "g", Kind: "K", Namespace: "n", Name: "a"}
	both := &relation.Selector{Labels: map[string]string{"b": "2", "a": "1"}, Controller: "uid"}
	cases := map[string]struct {
		ref  relation.Ref
		want string
	}{
		"named": {relation.Named(id), "K.g/a in namespace n"},
		"none":  {relation.Ref{}, "no object"},
		"set": {
			relation.Ref{ID: object.ID{Kind: "K"}, Selector: both}, "every K that matches a=1,b=2,the same controller",
		},
		"set in one": {
			relation.Ref{ID: object.ID{Kind: "K", Namespace: "n"}, Selector: both},
			"every K in namespace n that matches a=1,b=2,the same controller",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.ref.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefEqual holds that equal ends match the same objects, and that each part
// of an end counts.
func TestRefEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := refs.Draw(t, "a"), refs.Draw(t, "b")
		if a.Selector != nil && b.Selector != nil && rapid.Bool().Draw(t, "differ in selectors at most") {
			b.ID = a.ID
		}
		copied := a
		if a.Selector != nil {
			copied.Selector = &relation.Selector{Labels: maps.Clone(a.Selector.Labels), Controller: a.Selector.Controller}
		}
		if !a.Equal(copied) {
			t.Fatal("an end does not equal its copy")
		}
		if want := cmp.Equal(a, b, cmp.Comparer(sameLabels)); a.Equal(b) != want || b.Equal(a) != want {
			t.Fatalf("equal: %t and %t, want %t", a.Equal(b), b.Equal(a), want)
		}
		if obj := objects.Draw(t, "object"); a.Equal(b) && a.Matches(obj) != b.Matches(obj) {
			t.Fatalf("equal ends differ on %v", obj)
		}
	})
}

// sameLabels compares labels; no labels and an empty map are equal.
func sameLabels(a, b map[string]string) bool { return maps.Equal(a, b) }

func TestTyped(t *testing.T) {
	edge := relation.Edge{Relation: "r"}
	extract := relation.Typed(func(m *metav1.PartialObjectMetadata, _ relation.Kinds) []relation.Edge {
		edge.Declarer.Name = m.Name
		return []relation.Edge{edge}
	})
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	want := []relation.Edge{{Relation: "r", Declarer: object.ID{Name: "a"}}}
	if diff := cmp.Diff(want, extract(m, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChangeObject(t *testing.T) {
	before, after := &relation.Object{Version: "1"}, &relation.Object{Version: "2"}
	cases := map[string]struct {
		change relation.Change
		want   string
	}{
		"came":    {relation.Change{New: after}, "2"},
		"changed": {relation.Change{Old: before, New: after}, "2"},
		"went":    {relation.Change{Old: before}, "1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.change.Object().Version; got != c.want {
				t.Errorf("version %s, want %s", got, c.want)
			}
		})
	}
}
