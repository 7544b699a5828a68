package apply_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// unowned wants a ConfigMap without owner reference, in another namespace than the parent.
func (w *world) unowned(ns, name string, data ...string) apply.Object {
	o := w.configMap(name, 0, data...)
	o.SetNamespace(ns)
	o.Unowned = true
	return o
}

// existing returns a ConfigMap of any namespace, or nil.
func (w *world) existing(ns, name string) *corev1.ConfigMap {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, cm); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	} else if err != nil {
		return nil
	}
	return cm
}

// TestSkip shows that a skipped object is neither applied nor pruned, and that other objects are.
func TestSkip(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"), w.configMap("b", 0, "x=1"), w.configMap("old", 0))
	id := object.Of(w.get("a"), configMaps.GroupKind())
	cases := []struct {
		reason, changes, state string
		want                   []apply.Object
	}{
		{
			"a is not rendered", "updated ConfigMap/b; pruned ConfigMap/old; skipped ConfigMap/a", "a{x=1} b{x=2}",
			[]apply.Object{w.configMap("b", 0, "x=2")},
		},
		{
			"Skip wins over Want", "1 unchanged; skipped ConfigMap/a", "a{x=1} b{x=2}",
			[]apply.Object{w.configMap("a", 0, "x=2"), w.configMap("b", 0, "x=2")},
		},
		{"nothing else is wanted", "pruned ConfigMap/b; skipped ConfigMap/a", "a{x=1}", nil},
	}
	for _, c := range cases {
		l := w.life(nil)
		l.skip = []object.ID{id, {Kind: "ConfigMap", Namespace: w.ns, Name: "not-in-the-inventory"}}
		equal(t, c.reason, c.changes, l.must(c.want...).Changes.String())
		equal(t, c.reason, c.state, w.state())
	}
	equal(t, "record", "a", w.recorded())
	w.life(nil).must()
	equal(t, "state when a is no longer skipped", "", w.state())
}

// TestFieldOwnerPerObject: each object has its own field owner, edits are noticed, and two
// parents may apply different fields of one object.
func TestFieldOwnerPerObject(t *testing.T) {
	w := newWorld(t)
	a, b := w.configMap("a", 0, "x=1"), w.configMap("b", 0, "x=1")
	b.FieldOwner = "other-owner"
	w.life(nil).must(a, b)
	for name, owner := range map[string]string{"a": fieldOwner, "b": "other-owner"} {
		if o := apply.Observe(w.get(name), owner); o.Mark == "" {
			t.Errorf("no field of %s belongs to %s", name, owner)
		}
	}
	equal(t, "again", "2 unchanged", w.life(nil).must(a, b).Changes.String())
	cm := w.get("b")
	cm.Data["x"] = "edited"
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	equal(t, "after an edit", "updated ConfigMap/b; 1 unchanged", w.life(nil).must(a, b).Changes.String())
	b.FieldOwner = "third-owner"
	equal(t, "another owner", "updated ConfigMap/b; 1 unchanged", w.life(nil).must(a, b).Changes.String())
	equal(t, "state", "a{x=1} b{x=1}", w.state())
}

// TestUnowned shows that objects without owner reference, in another namespace, live like other
// objects: created, put back after an edit, pruned, and deleted with the parent.
func TestUnowned(t *testing.T) {
	w, there := newWorld(t), testenv.Namespace(t)
	w.life(nil).must(w.unowned(there, "a", "x=1"), w.unowned(there, "b"))
	a := w.existing(there, "a")
	if len(a.OwnerReferences) > 0 {
		t.Errorf("the garbage collector would delete an object whose owner is in another namespace: %v", a.OwnerReferences)
	}
	delete(a.Annotations, apply.ParentAnnotation)
	if err := w.c.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	result := w.life(nil).must(w.unowned(there, "a", "x=1"))
	equal(t, "changes", "updated ConfigMap/a; pruned ConfigMap/b", result.Changes.String())
	parent, uid, ok := apply.ParentOf(w.existing(there, "a"), configMaps.GroupKind())
	want := object.Of(w.parent, configMaps.GroupKind())
	if !ok || parent != want || uid != w.parent.UID {
		t.Errorf("the parent is %s with uid %s, want %s", parent, uid, want)
	}
	testenv.Eventually(t, func() error { // The deletion is a foreground deletion.
		if _, err := w.life(nil).destroy(); err != nil {
			return err
		}
		if w.existing(there, "a") != nil {
			return errors.New("the object is kept although its parent is deleted")
		}
		return nil
	})
}

// TestUnownedForeign shows that objects of other owners are left alone, and so are objects that
// Orphan released.
func TestUnownedForeign(t *testing.T) {
	w, there := newWorld(t), testenv.Namespace(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: "theirs"}}
	if err := w.c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.life(nil).must(w.unowned(there, "mine"))
	mine := w.existing(there, "mine")
	w.reset() // Another parent has another uid.
	result := w.life(nil).must(w.unowned(there, "theirs"), w.unowned(there, "mine"))
	equal(t, "changes", "foreign ConfigMap/theirs, ConfigMap/mine", result.Changes.String())
	if _, err := w.life(nil).destroy(); err != nil {
		t.Fatal(err)
	}
	if w.existing(there, "theirs") == nil || w.existing(there, "mine") == nil {
		t.Error("an object of another owner is deleted")
	}
	l := w.life(nil)
	_, uid, _ := apply.ParentOf(mine, configMaps.GroupKind())
	entry := apply.Entry{ID: object.Of(mine, configMaps.GroupKind()), Version: "v1", UID: mine.UID}
	if err := l.Orphan(t.Context(), metav1.OwnerReference{UID: uid}, []apply.Entry{entry}); err != nil {
		t.Fatal(err)
	}
	if a := w.existing(there, "mine").Annotations[apply.ParentAnnotation]; a != "" {
		t.Errorf("the orphan still names its parent: %s", a)
	}
}

// TestUnownedCrash ends the process at each write. The next process recognises objects whose
// creation got no answer by ParentAnnotation.
func TestUnownedCrash(t *testing.T) {
	w, there := newWorld(t), testenv.Namespace(t)
	for _, late := range []bool{false, true} {
		for after := 0; ; after++ {
			w.reset()
			fault := &crash{after: after, late: late}
			_, err := w.life(fault.wrap).run(w.unowned(there, "a", "x=1"), w.unowned(there, "b", "x=1"))
			result := w.life(nil).must(w.unowned(there, "a", "x=1"), w.unowned(there, "b", "x=1"))
			if len(result.Changes.Of(apply.Foreign)) > 0 {
				t.Errorf("after %d writes, late %t: %s", after, late, result.Changes)
			}
			equal(t, "record", "a b", w.recorded())
			w.crashDelete(after, late)
			if w.existing(there, "a") != nil || w.existing(there, "b") != nil {
				t.Fatalf("after %d writes, late %t: an object is left", after, late)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}
	}
}
