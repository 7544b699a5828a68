package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

func equal(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestApply tells the life of a set: created, left alone, changed, pruned.
func TestApply(t *testing.T) {
	w := newWorld(t)
	l := w.life(nil)
	first := l.must(w.configMap("a", 0, "x=1"), w.configMap("b", 1, "x=1"), w.configMap("c", 1, "x=1"))
	equal(t, "changes", "created ConfigMap/a, ConfigMap/b, ConfigMap/c", first.Changes.String())
	equal(t, "state", "a{x=1} b{x=1} c{x=1}", w.state())

	// The view is still empty: the applier knows its own writes.
	again := l.must(w.configMap("a", 0, "x=1"), w.configMap("b", 1, "x=1"), w.configMap("c", 1, "x=1"))
	equal(t, "changes", "3 unchanged", again.Changes.String())
	if again.Recheck == 0 {
		t.Error("nobody looks again at what the view did not show")
	}

	l.View = w.look()
	second := l.must(w.configMap("d", 1, "x=1"), w.configMap("a", 0, "x=1"), w.configMap("c", 1, "x=2"))
	equal(t, "changes", "created ConfigMap/d; updated ConfigMap/c; 1 unchanged; pruned ConfigMap/b",
		second.Changes.String())
	equal(t, "state", "a{x=1} c{x=2} d{x=1}", w.state())
	equal(t, "record", "a c d", w.recorded())
}

// TestFieldRemoved: a field that is not wanted any more is removed, and a field of another
// client is kept.
func TestFieldRemoved(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "keep=1", "drop=1"))
	cm := w.get("a")
	cm.Data["theirs"] = "1"
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	w.life(nil).must(w.configMap("a", 0, "keep=1"))
	equal(t, "state", "a{keep=1 theirs=1}", w.state())
}

// TestNothingChanged: a new process that knows nothing sends nothing.
func TestNothingChanged(t *testing.T) {
	w := newWorld(t)
	want := []apply.Object{w.configMap("a", 0, "x=1"), w.configMap("b", 1, "x=1")}
	w.life(nil).must(want...)
	have, err := w.inventory(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	dead := &crash{}
	dead.dead = true
	result, err := w.life(dead.wrap).Apply(t.Context(), apply.Request{Owner: w.owner(), Have: have, Want: want})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "2 unchanged", result.Changes.String())
}

// TestDrift: every edit of an applied field is undone, and no other edit causes a write.
func TestDrift(t *testing.T) {
	edits := map[string]struct {
		edit    func(*corev1.ConfigMap)
		noticed bool
	}{
		"a value":           {func(cm *corev1.ConfigMap) { cm.Data["x"] = "theirs" }, true},
		"a removed field":   {func(cm *corev1.ConfigMap) { delete(cm.Data, "x") }, true},
		"the owner removed": {func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }, true},
		"another field":     {func(cm *corev1.ConfigMap) { cm.Data["y"] = "theirs" }, false},
		"an annotation":     {func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{"y": "1"} }, false},
	}
	w := newWorld(t)
	for name, e := range edits {
		t.Run(name, func(t *testing.T) {
			w.reset()
			object := strings.ReplaceAll(name, " ", "-")
			w.life(nil).must(w.configMap(object, 0, "x=1"))
			cm := w.get(object)
			e.edit(cm)
			if err := w.c.Update(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
			result := w.life(nil).must(w.configMap(object, 0, "x=1"))
			if got := len(result.Changes.Of(apply.Updated)) == 1; got != e.noticed {
				t.Errorf("noticed: %t, want %t: %s", got, e.noticed, result.Changes)
			}
			if after := w.get(object); after.Data["x"] != "1" || !metav1.IsControlledBy(after, w.parent) {
				t.Errorf("it was not put back: %v", after)
			}
			equal(t, "again", "1 unchanged", w.life(nil).must(w.configMap(object, 0, "x=1")).Changes.String())
		})
	}
}

// TestDeletedByHand: an object that a user deleted is created again, even if the view still
// shows the object, or shows its replacement.
func TestDeletedByHand(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	l := w.life(nil) // The view has shown the object.
	if err := w.c.Delete(t.Context(), w.get("a")); err != nil {
		t.Fatal(err)
	}
	result := l.must(w.configMap("a", 0, "x=2"))
	equal(t, "changes", "created ConfigMap/a", result.Changes.String())
	equal(t, "state", "a{x=2}", w.state())
}

// TestDeletedAtOnce: an object is deleted directly after its creation, and the view shows the
// deletion. Only an applier with an event of the deletion believes the view: usually a view
// without an object is late.
func TestDeletedAtOnce(t *testing.T) {
	w := newWorld(t)
	l := w.life(nil)
	l.must(w.configMap("a", 0, "x=1"))
	made := w.get("a")
	if err := w.c.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes before", "1 unchanged", l.must(w.configMap("a", 0, "x=1")).Changes.String())
	l.Gone(object.Of(made, configMaps.GroupKind()), "another")
	equal(t, "changes when another was", "1 unchanged", l.must(w.configMap("a", 0, "x=1")).Changes.String())
	l.Gone(object.Of(made, configMaps.GroupKind()), made.UID)
	equal(t, "changes", "created ConfigMap/a", l.must(w.configMap("a", 0, "x=1")).Changes.String())
}

// TestLateView: if a view has not shown a write in time, the applier reads the object from the
// API server. An existing object is not written again, and an object that was deleted without
// an event is created again.
func TestLateView(t *testing.T) {
	w := newWorld(t)
	l := w.life(nil)
	first := l.must(w.configMap("a", 0, "x=1"))
	l.clock.SetTime(l.clock.Now().Add(2 * first.Recheck))
	equal(t, "changes", "1 unchanged", l.must(w.configMap("a", 0, "x=1")).Changes.String())
	if err := w.c.Delete(t.Context(), w.get("a")); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes of what is gone", "created ConfigMap/a", l.must(w.configMap("a", 0, "x=1")).Changes.String())
}

// TestLateDeletion: an object that the applier deleted does not count as existing while a late view
// shows it. A parent that wants the object again waits for its end.
func TestLateDeletion(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	l := w.life(nil) // The view has shown the object.
	made := w.get("a")
	have, err := w.inventory(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "pruned ConfigMap/a", l.must().Changes.String())
	// The user wants the object again, and the inventory without the object was not recorded.
	if err := w.record(t.Context(), w.c, have); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes while late", "terminating ConfigMap/a", l.must(w.configMap("a", 0, "x=1")).Changes.String())
	l.View = w.look()
	l.Gone(object.Of(made, configMaps.GroupKind()), made.UID)
	equal(t, "changes", "created ConfigMap/a", l.must(w.configMap("a", 0, "x=1")).Changes.String())
	equal(t, "state", "a{x=1}", w.state())
}

// TestContested: a field that another manager sets is taken back once. If the manager sets the field again within a
// minute, the field is left to the manager, also after a quiet minute, and other fields are as wanted. Other content is
// applied whole, and then all begins anew. A manager that comes back later than a minute is no rival.
func TestContested(t *testing.T) {
	w := newWorld(t)
	l := w.life(nil)
	l.Rivals = &apply.Rivals{Client: l.client, Within: time.Minute, Clock: l.clock}
	want := w.configMap("a", 0, "x=1", "z=1")
	l.must(want)
	meddle := func(key, value string) {
		t.Helper()
		cm := w.get("a")
		cm.Data[key], cm.Data["y"] = value, "theirs"
		if err := w.c.Update(t.Context(), cm, client.FieldOwner("meddler")); err != nil {
			t.Fatal(err)
		}
		l.View = w.look()
	}
	later := func() { l.clock.SetTime(l.clock.Now().Add(2 * time.Minute)) }
	apply := func(left, changes, state string) {
		t.Helper()
		result := l.must(want)
		equal(t, "changes", changes, result.Changes.String())
		equal(t, "left", left, result.Changes.Left())
		equal(t, "state", state, w.state())
		l.View = w.look()
	}
	const left = "ConfigMap/a: data.x is left to field manager meddler"
	meddle("x", "2")
	apply("", "updated ConfigMap/a", "a{x=1 y=theirs z=1}")
	later()
	meddle("x", "2")
	apply("", "updated ConfigMap/a", "a{x=1 y=theirs z=1}")
	meddle("x", "3")
	apply(left, "1 unchanged", "a{x=3 y=theirs z=1}")
	later()
	apply(left, "1 unchanged", "a{x=3 y=theirs z=1}")
	meddle("x", "4")
	apply(left, "1 unchanged", "a{x=4 y=theirs z=1}")
	cm := w.get("a")
	delete(cm.Data, "z") // A field without another manager is not contested.
	if err := w.c.Update(t.Context(), cm, client.FieldOwner("remover")); err != nil {
		t.Fatal(err)
	}
	l.View = w.look()
	apply(left, "updated ConfigMap/a", "a{x=4 y=theirs z=1}")
	want = w.configMap("a", 0, "x=5", "z=1")
	apply("", "updated ConfigMap/a", "a{x=5 y=theirs z=1}")
	meddle("x", "6")
	apply("", "updated ConfigMap/a", "a{x=5 y=theirs z=1}")
}

// TestYields: for as long as an object yields, each field is left to the manager that has set the field last, also if
// the wanted content changes and after a restart. All other fields are as wanted. Then the wanted values return.
func TestYields(t *testing.T) {
	w := newWorld(t)
	wanted := func(yields bool, data ...string) apply.Object {
		o := w.configMap("a", 0, data...)
		o.SetLabels(map[string]string{"example.com/b": "ours", "example": "ours"})
		o.Yields = yields
		return o
	}
	l := w.life(nil)
	l.must(wanted(true, "x=1", "z=1"))
	cm := w.get("a")
	cm.Data["x"], cm.Labels["example.com/b"] = "2", "theirs"
	if err := w.c.Update(t.Context(), cm, client.FieldOwner("update")); err != nil {
		t.Fatal(err)
	}
	const left = "ConfigMap/a: data.x is left to field manager update; " +
		"metadata.labels.example.com/b is left to field manager update"
	apply := func(o apply.Object, left, changes, state, label string) {
		t.Helper()
		l.View = w.look()
		result := l.must(o)
		equal(t, "changes", changes, result.Changes.String())
		equal(t, "left", left, result.Changes.Left())
		equal(t, "state", state, w.state())
		equal(t, "label", label, w.get("a").Labels["example.com/b"])
	}
	apply(wanted(true, "x=1", "z=1"), left, "1 unchanged", "a{x=2 z=1}", "theirs")
	apply(wanted(true, "x=1", "z=1"), left, "1 unchanged", "a{x=2 z=1}", "theirs")
	apply(wanted(true, "x=3", "z=3"), left, "updated ConfigMap/a", "a{x=2 z=3}", "theirs")
	l = w.life(nil)
	w.recorded()
	apply(wanted(true, "x=3", "z=4"), left, "updated ConfigMap/a", "a{x=2 z=4}", "theirs")
	apply(wanted(false, "x=3", "z=4"), "", "updated ConfigMap/a", "a{x=3 z=4}", "ours")
	apply(wanted(false, "x=3", "z=4"), "", "1 unchanged", "a{x=3 z=4}", "ours")
}

// TestRivals: before a spec was applied there is no rival, whoever has set the fields. A rival is one for
// one object and one spec alone.
func TestRivals(t *testing.T) {
	w := newWorld(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	rivals := &apply.Rivals{Client: w.c, Within: time.Minute, Clock: clock}
	for _, name := range []string{"a", "b"} {
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
		theirs.Data = map[string]string{"x": "2"}
		if err := w.c.Create(t.Context(), theirs, client.FieldOwner("meddler")); err != nil {
			t.Fatal(err)
		}
	}
	yields := func(key, spec string, want bool) {
		t.Helper()
		left := rivals.TakeBack(t.Context(), key, spec, w.configMap(key, 0, "x=1").Unstructured, fieldOwner)
		if (len(left) > 0) != want {
			t.Errorf("%s of spec %s: %v, want yields %t", key, spec, left, want)
		}
	}
	yields("a", "1", false)
	yields("a", "1", false)
	rivals.Applied("a", "1")
	yields("a", "1", false) // Taken back.
	yields("a", "1", true)
	rivals.Applied("b", "1")
	yields("b", "1", false)
	rivals.Forget("b")
	clock.SetTime(clock.Now().Add(time.Hour))
	yields("a", "1", true)
	rivals.Applied("a", "1")
	yields("a", "1", true)
	yields("a", "2", false)
	rivals.Applied("a", "2")
	yields("a", "2", false) // Taken back.
	yields("a", "2", true)
}

// TestUnseen: the state of an object before its last write is known to be old until the view
// shows the write.
func TestUnseen(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	l := w.life(nil)
	id := object.Of(w.get("a"), configMaps.GroupKind())
	before := w.get("a").ResourceVersion
	l.must(w.configMap("a", 0, "x=1"))
	if l.Unseen(id, before) {
		t.Error("nothing was written, and something is waited for")
	}
	l.must(w.configMap("a", 0, "x=2"))
	after := w.get("a").ResourceVersion
	if !l.Unseen(id, before) || l.Unseen(id, after) {
		t.Errorf("unseen: %t before, %t after it was written", l.Unseen(id, before), l.Unseen(id, after))
	}
	l.View = w.look()
	l.must(w.configMap("a", 0, "x=2"))
	if l.Unseen(id, before) {
		t.Error("it is remembered although the view has shown it")
	}
}

// TestTakenOver: an object that another controller has taken over is not changed, and not
// deleted with the parent.
func TestTakenOver(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "other"}}
	if err := w.c.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	cm := w.get("a")
	cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(other, configMaps)}
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "foreign ConfigMap/a", w.life(nil).must(w.configMap("a", 0, "x=2")).Changes.String())
	if _, err := w.life(nil).destroy(); err != nil {
		t.Fatal(err)
	}
	equal(t, "record", "", w.recorded())
	if w.get("a").DeletionTimestamp != nil {
		t.Error("it is being deleted")
	}
}

// TestForeign: an object of another owner is not changed, whether or not the view has the
// object, and nothing is pruned while this object has a wanted name.
func TestForeign(t *testing.T) {
	for name, known := range map[string]bool{"seen": true, "not yet seen": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.life(nil).must(w.configMap("old", 0, "x=1"))
			l := w.life(nil)
			theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "a"}}
			theirs.Data = map[string]string{"x": "theirs"}
			if err := w.c.Create(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			if known {
				l.View = w.look()
			}
			result := l.must(w.configMap("a", 0, "x=1"), w.configMap("b", 0, "x=1"), w.configMap("late", 1))
			equal(t, "changes", "created ConfigMap/b; foreign ConfigMap/a", result.Changes.String())
			equal(t, "theirs", "theirs", w.get("a").Data["x"])
			equal(t, "state", "b{x=1} old{x=1}", w.state())

			// The deletion of the parent does not delete it either.
			if _, err := w.life(nil).destroy(); err != nil {
				t.Fatal(err)
			}
			equal(t, "theirs", "theirs", w.get("a").Data["x"])

			if err := w.c.Delete(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			w.life(nil).must(w.configMap("a", 0, "x=1"))
			equal(t, "state", "a{x=1}", w.state())
		})
	}
}

// TestForeignInLaterWaves: all foreign objects with wanted names are reported at once,
// including objects of later waves.
func TestForeignInLaterWaves(t *testing.T) {
	w := newWorld(t)
	theirs := make([]*corev1.ConfigMap, 0, 2)
	for _, name := range []string{"a", "late"} {
		theirs = append(theirs, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}})
		if err := w.c.Create(t.Context(), theirs[len(theirs)-1]); err != nil {
			t.Fatal(err)
		}
	}
	l := w.life(nil)
	l.View = w.look()
	want := []apply.Object{
		w.configMap("a", 0, "x=1"), w.configMap("b", 0, "x=1"), w.configMap("free", 1), w.configMap("late", 1, "x=1"),
	}
	result := l.must(want...)
	equal(t, "changes", "created ConfigMap/b; foreign ConfigMap/a, ConfigMap/late", result.Changes.String())
	equal(t, "state", "b{x=1}", w.state())
	for _, one := range theirs {
		if err := w.c.Delete(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	w.life(nil).must(want...)
	equal(t, "state", "a{x=1} b{x=1} free{} late{x=1}", w.state())
}

// TestNeverMade: an intended object that was never created, and is no longer wanted, does not
// stay in the inventory while a foreign object has its name.
func TestNeverMade(t *testing.T) {
	w := newWorld(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "first"}}
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "b"}}
	for _, cm := range []*corev1.ConfigMap{theirs, taken} {
		if err := w.c.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		w.life(nil).must(w.configMap("first", 0), w.configMap(name, 1))
		equal(t, "record", "first? "+name+"?", w.recorded())
	}
	// An object whose creation got no answer belongs to the parent.
	ours := w.configMap("c", 1)
	ours.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.parent, configMaps)})
	if err := w.c.Create(t.Context(), ours.Unstructured); err != nil {
		t.Fatal(err)
	}
	w.life(nil).must(w.configMap("first", 0), w.configMap("d", 1))
	equal(t, "record", "first? c? d?", w.recorded())
	if err := w.c.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.life(nil).must(w.configMap("first", 0), w.configMap("d", 1))
	equal(t, "state", "d{} first{}", w.state())
	equal(t, "record", "first d", w.recorded())
}

// TestReplaced: an object that was deleted and created by another client is foreign, although
// the inventory has its name.
func TestReplaced(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	l := w.life(nil)
	if err := w.c.Delete(t.Context(), w.get("a")); err != nil {
		t.Fatal(err)
	}
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "a"}}
	if err := w.c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "foreign ConfigMap/a", l.must(w.configMap("a", 0, "x=2")).Changes.String())
	if _, err := w.life(nil).destroy(); err != nil {
		t.Fatal(err)
	}
	if w.get("a") == nil || len(w.get("a").OwnerReferences) > 0 {
		t.Error("somebody else's object was deleted or taken over")
	}
}

// order records the deleted objects.
type order struct {
	next    http.RoundTripper
	deleted []string
}

func (o *order) wrap(next http.RoundTripper) http.RoundTripper {
	o.next = next
	return o
}

func (o *order) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		o.deleted = append(o.deleted, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	}
	return o.next.RoundTrip(r)
}

// TestPruneInReverse: the object created last is deleted first, and only if its deletion is
// allowed.
func TestPruneInReverse(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("z", 0), w.configMap("m", 1), w.configMap("a", 1), w.configMap("q", 2))
	have, err := w.inventory(t.Context(), w.c)
	if err != nil {
		t.Fatal(err)
	}
	result, err := w.life(nil).Apply(t.Context(), apply.Request{
		Owner: w.owner(), Have: have, MayPrune: func() bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "kept ConfigMap/q, ConfigMap/a, ConfigMap/m, ConfigMap/z", result.Changes.String())
	var seen order
	w.life(seen.wrap).must()
	equal(t, "order", "q a m z", strings.Join(seen.deleted, " "))
	equal(t, "state", "", w.state())
}

// TestPruneNotBeforeApplied: as long as something fails, nothing goes.
func TestPruneNotBeforeApplied(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("old", 0))
	if _, err := w.life(nil).run(w.configMap("NOT A NAME", 0), w.configMap("new", 0)); err == nil {
		t.Fatal("a name that is none is no error")
	}
	equal(t, "state", "new{} old{}", w.state())
	w.life(nil).must(w.configMap("new", 0))
	equal(t, "state", "new{}", w.state())
	equal(t, "record", "new", w.recorded())
}

// TestDelete: the last wave is deleted first, and a wave only after the next wave is gone.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("identity", 0), w.configMap("a", 1), w.configMap("b", 1))
	held := w.get("a")
	held.Finalizers = []string{"kinship.dev/test"}
	if err := w.c.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if _, err := w.life(nil).destroy(); err != nil {
			return err
		}
		if got := w.recorded(); got != "identity a" {
			return fmt.Errorf("%s are left", got)
		}
		return nil
	})
	if w.get("identity").DeletionTimestamp != nil {
		t.Error("the first wave is deleted before the last is gone")
	}
	held = w.get("a")
	held.Finalizers = nil
	if err := w.c.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		result, err := w.life(nil).destroy()
		if err == nil && len(result.Inventory) > 0 {
			err = errors.New(result.Changes.String())
		}
		return err
	})
	equal(t, "state", "", w.state())
}

// TestRecordFails: nothing is made that is not recorded.
func TestRecordFails(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("the disk is full")
	_, err := w.life(nil).Apply(t.Context(), apply.Request{
		Owner: w.owner(), Want: []apply.Object{w.configMap("a", 0)},
		Record: func(context.Context, []apply.Entry) error { return broken },
	})
	if !errors.Is(err, broken) || w.get("a") != nil {
		t.Errorf("error %v, object %v", err, w.get("a"))
	}
}

// TestCreateRefusesWhatExists checks the assumption of this package: server-side apply with a
// resourceVersion that no object has either creates the object, or is refused.
func TestCreateRefusesWhatExists(t *testing.T) {
	w := newWorld(t)
	theirs := w.configMap("a", 0, "x=theirs")
	if err := w.c.Create(t.Context(), theirs.Unstructured); err != nil {
		t.Fatal(err)
	}
	ours := w.configMap("a", 0, "x=ours")
	ours.SetResourceVersion("1")
	err := w.c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(ours.Unstructured),
		client.FieldOwner(fieldOwner), client.ForceOwnership)
	if err == nil {
		t.Error("an object that exists was merged with")
	}
}

// TestWantedTwice: two objects of one name would overwrite each other in every pass. Nothing is written.
func TestWantedTwice(t *testing.T) {
	w := newWorld(t)
	_, err := w.life(nil).run(w.configMap("a", 0, "k", "v"), w.configMap("a", 1, "k", "w"))
	if err == nil || !strings.Contains(err.Error(), "ConfigMap/a in namespace "+w.ns+" is wanted twice") {
		t.Errorf("error %v", err)
	}
	equal(t, "objects", "", w.state())
}
