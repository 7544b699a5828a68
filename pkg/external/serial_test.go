package external

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// newSerialWorld returns a toyWorld whose slow cloud changes one thing at a time, with Networks of the
// given names.
func newSerialWorld(t *testing.T, looks int, names ...string) *toyWorld {
	t.Helper()
	w := newToyWorld(t, true)
	w.serial()
	w.cloud.change(func(c *toyCloud) { c.slow = looks })
	w.create(names...)
	return w
}

// serial sets [Kind.Serial] of the Networks.
func (w *toyWorld) serial() {
	w.r.kind.Serial = func(Input[netKind]) string { return "the box" }
}

// wakes compares the objects that were requeued since the last call, and expects that no operation began
// during another operation.
func (w *toyWorld) wakes(reason string, names ...string) {
	w.t.Helper()
	if diff := cmp.Diff(names, w.woken); diff != "" {
		w.t.Fatalf("%s: woken (-want +got):\n%s", reason, diff)
	}
	w.woken = nil
	w.cloud.change(func(c *toyCloud) {
		if c.overlaps > 0 {
			w.t.Fatalf("%s: %d operations began during another one", reason, c.overlaps)
		}
	})
}

func waitsFor(name string) string {
	return "Waiting for the change of Network/" + name + " in the box to end"
}

// TestSerial: the creations, updates and deletions of things in the same box do not overlap, even if an
// operation takes many passes. The end of an operation requeues the next object of sequence.waiting.
func TestSerial(t *testing.T) {
	w := newSerialWorld(t, 2, "a", "b", "c")
	const begun = "none Waiting for resource to be created"
	w.pass("a", "c", "b")
	w.expect("the first one", states{"a": begun, "b": "none " + waitsFor("a"), "c": "none " + waitsFor("a")},
		"GET /things/blue-a", "PUT /things/blue-a")
	w.later(3*time.Second, "a")
	w.pass("b", "c")
	w.wakes("it runs")
	w.later(5*time.Second, "a")
	w.wakes("it has ended", "c")
	w.pass("b", "c")
	w.expect("the next one", states{"a": "blue-a", "b": "none " + waitsFor("c"), "c": begun}, "GET /operations/op1",
		"GET /operations/op1", "GET /things/blue-a", "GET /things/blue-c", "PUT /things/blue-c")

	w.delete("a")
	w.r.kind.Differs = func(Input[netKind], string) []string { return []string{"red"} }
	w.pass("a")
	w.later(3*time.Second, "c")
	w.later(5*time.Second, "c")
	w.wakes("the thing is also painted before another one is changed")
	w.later(3*time.Second, "c")
	w.r.kind.Differs = func(Input[netKind], string) []string { return nil }
	w.later(5*time.Second, "c")
	w.wakes("it is painted", "b")
	w.r.kind.Differs = func(Input[netKind], string) []string { return []string{"red"} }
	w.edit("c")
	w.pass("c")
	w.expect("it waits for the others", states{"a": "blue-a " + waitsFor("c"), "c": "blue-c " + waitsFor("b")},
		"GET /operations/op2", "GET /operations/op2", "GET /things/blue-c", "PATCH /things/blue-c",
		"GET /things/blue-c", "GET /operations/op3", "GET /things/blue-c", "GET /operations/op3", "GET /things/blue-c",
		"GET /things/blue-c")
}

// TestSerialLong: a change may last longer than carriedOut while the cloud confirms the change
// (memory.heard).
func TestSerialLong(t *testing.T) {
	w := newSerialWorld(t, 3, "a", "b")
	w.pass("a", "b")
	for range 2 {
		w.later(carriedOut-time.Second, "a")
		w.wakes("it runs")
	}
	w.later(carriedOut-time.Second, "a")
	w.wakes("it has ended", "b")
}

// TestSerialDeletions: the next object waits until the thing of the previous object is gone.
func TestSerialDeletions(t *testing.T) {
	w := newSerialWorld(t, 0, "a", "b")
	w.pass("a", "b")
	w.wakes("nothing takes long")
	w.cloud.change(func(c *toyCloud) { c.slow, c.calls = 1, nil })
	w.delete("a", "b")
	w.pass("a", "b")
	w.later(3*time.Second, "a")
	w.wakes("it runs")
	w.cloud.change((*toyCloud).finish)
	w.later(3*time.Second, "a")
	w.wakes("it has ended", "b")
	w.pass("b")
	w.expect("the next one", states{"a": "gone", "b": "blue-b Waiting for resource to be deleted"},
		"DELETE /things/blue-a", "GET /things/blue-a", "GET /things/blue-a", "DELETE /things/blue-b")
	w.cloud.change((*toyCloud).finish)
	w.later(3*time.Second, "b")
	w.forgotten()
}

// TestSerialLeaving: another process waits for the end of a running deletion, and changes no other thing
// meanwhile.
func TestSerialLeaving(t *testing.T) {
	w := newSerialWorld(t, 0, "a", "b")
	w.pass("a", "b")
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.r.engine.Specific = true // The status tells that the deletion was begun.
	w.delete("a", "b")
	w.pass("a")
	w.restart()
	w.serial()
	w.r.kind.Leaving = func(id string) bool { return id == "blue-a" }
	w.pass("a", "b")
	w.cloud.change((*toyCloud).finish)
	w.later(3*time.Second, "a")
	w.wakes("it has ended", "b")
}

// TestSerialKilled: another process learns from intent.Serial that a creation is running (restoreChange).
func TestSerialKilled(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b")
	w.pass("b", "a")
	w.restart()
	w.serial()
	w.watch("b")
	w.watch("a")
	w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
	w.pass("a")
	w.pass("b")
	w.wakes("the creation of b has ended", "a")
	w.pass("a")
	w.expect("each was created once", states{"a": "none Waiting for resource to be created", "b": "blue-b"},
		"GET /things/blue-b", "PUT /things/blue-b", "GET /operations/op1", "GET /things/blue-b", "GET /things/blue-a",
		"PUT /things/blue-a")
}

// TestSerialUnanswered: another process also learns of a Create without an answer, and waits until the
// thing is found and serves.
func TestSerialUnanswered(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b")
	w.cloud.change(func(c *toyCloud) { c.lose = "PUT" })
	w.pass("b")
	w.restart()
	w.serial()
	w.watch("b")
	w.pass("a", "b")
	w.cloud.change((*toyCloud).finish)
	w.r.kind.Observe = func(netKind, string) reconcile.Outcome {
		return reconcile.Progress(condition.ReasonProgressing, "it is being made")
	}
	w.pass("b")
	w.wakes("it does not serve yet")
	w.r.kind.Observe = func(netKind, string) reconcile.Outcome { return reconcile.Outcome{} }
	w.pass("b")
	w.wakes("it serves", "a")
	w.expect("nothing was done twice", states{"a": "none " + waitsFor("b"), "b": "blue-b"},
		"GET /things/blue-b", "PUT /things/blue-b", "GET /things/blue-b", "GET /things/blue-b", "GET /things/blue-b")
}

// TestSerialDeletedHolder: before another thing is changed, the creation of a deleted object's thing ends,
// and the thing is deleted. The end of an object for any reason gives the reservation to the next object.
func TestSerialDeletedHolder(t *testing.T) {
	for name, c := range map[string]struct {
		ends  func(w *toyWorld)
		calls []string
	}{
		"by the operator": {func(w *toyWorld) {
			w.later(3*time.Second, "a")
			w.wakes("its deletion has begun")
			w.cloud.change((*toyCloud).finish)
			w.later(3*time.Second, "a")
		}, []string{
			"GET /things/blue-a", "PUT /things/blue-a", "GET /operations/op1", "GET /things/blue-a", "DELETE /things/blue-a",
			"GET /things/blue-a", "GET /operations/op1", "GET /things/blue-a", "GET /things/blue-b", "PUT /things/blue-b",
		}},
		"by a person": {func(w *toyWorld) {
			w.cloud.change((*toyCloud).finish)
			w.finalizers("a", `[]`)
		}, []string{"GET /things/blue-a", "PUT /things/blue-a", "GET /things/blue-b", "PUT /things/blue-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSerialWorld(t, 1, "a", "b")
			w.pass("a", "b")
			w.delete("a")
			w.pass("a")
			w.wakes("its creation goes on")
			c.ends(w)
			w.wakes("it is gone", "b")
			w.pass("b")
			w.expect("the next one", states{"a": "gone", "b": "none Waiting for resource to be created"}, c.calls...)
		})
	}
}

// TestSerialHeld: a deleted object that waits for its users does not poll its change, and delays no other
// object.
func TestSerialHeld(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b")
	w.pass("a", "b")
	w.finalizers("a", `["example.com/network", "example.com/used"]`)
	w.delete("a")
	w.pass("a")
	w.wakes("it waits", "b")
}

// TestSerialFailed: the failure of a change ends the reservation. If the cloud does not answer, the
// reservation ends after carriedOut.
func TestSerialFailed(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b", "c")
	w.cloud.change(func(c *toyCloud) { c.refuse = "no" })
	w.pass("a", "b", "c")
	w.later(3*time.Second, "a")
	w.wakes("refused", "b")
	w.pass("b")
	w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
	w.actor.address = "http://127.0.0.1:0"
	for _, wakes := range [][]string{nil, {"c"}} {
		w.pass("b")
		w.wakes("no answer", wakes...)
		w.clock.SetTime(w.clock.Now().Add(carriedOut))
	}
}

// TestSerialBroken: an object whose requests fail each time gives up its reservation after carriedOut.
func TestSerialBroken(t *testing.T) {
	w := newSerialWorld(t, 0, "a", "b")
	w.cloud.change(func(c *toyCloud) { c.fails = http.MethodPut })
	w.pass("a", "b")
	w.later(carriedOut/2, "a")
	w.wakes("it is tried again")
	w.later(carriedOut/2, "a")
	w.wakes("it failed for long", "b")
}

// TestSerialPlaces: things in different boxes, and things without a box, are changed at the same time.
func TestSerialPlaces(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b", "c")
	boxes := map[string]string{"a": "box", "b": "another"}
	w.r.kind.Serial = func(in Input[netKind]) string { return boxes[in.Object.Name] }
	w.pass("a", "b", "c")
	const begun = "none Waiting for resource to be created"
	w.expect("at once", states{"a": begun, "b": begun, "c": begun}, "GET /things/blue-a", "PUT /things/blue-a",
		"GET /things/blue-b", "PUT /things/blue-b", "GET /things/blue-c", "PUT /things/blue-c")
}

// TestSerialKinds: objects of two kinds in the same box take turns, also after a restart.
func TestSerialKinds(t *testing.T) {
	w := newSerialWorld(t, 1, "a", "b")
	w.pass("a")
	w.restart()
	w.serial()
	w.r.kind.GVK.Kind = "Subnet"
	w.watch("a")
	w.r.kind.GVK = networks
	w.pass("b")
	w.expect("of another kind", states{"b": "none " + waitsFor("a")}, "GET /things/blue-a", "PUT /things/blue-a")
}

// TestSerialReservations: leaveSequence gives a reservation to the object that waited longest, unless that
// object is gone. A late event restores no reservation (record.visited).
func TestSerialReservations(t *testing.T) {
	var woken []string
	s := newRecords(func(id object.ID) { woken = append(woken, id.Name) })
	place := cloudKey{cloud: "cloud", key: "box"}
	a, b, c, d := s.learn(object.ID{Name: "a"}, "a"), s.learn(object.ID{Name: "b"}, "b"),
		s.learn(object.ID{Name: "c"}, "c"), s.learn(object.ID{Name: "d"}, "d")
	s.restoreChange(a, place)
	s.restoreChange(b, place)
	for _, r := range []*record{c, d, b, c} {
		if holder, ok := s.reserveChange(r, place); ok || holder != a.id {
			t.Fatalf("%s has the place of a", r.id.Name)
		}
	}
	s.forget(c)
	s.restoreChange(a, cloudKey{})
	if want := []string{"d"}; !slices.Equal(woken, want) || !s.beginPass(d) || s.beginPass(a) {
		t.Fatalf("%v were woken, want %v", woken, want)
	}
	s.endChange(d)
	s.endChange(b)
	if s.restoreChange(a, place); s.beginPass(a) {
		t.Error("a late event restored a reservation")
	}
	if len(s.sequences) > 0 {
		t.Error("a place is remembered without objects")
	}
}

// TestSerialNamespaces: the namespaces that wait for a place get the reservation in turn, and within a namespace
// the object that waited longest.
func TestSerialNamespaces(t *testing.T) {
	var woken []string
	s := newRecords(func(id object.ID) { woken = append(woken, id.Name) })
	place, all := cloudKey{cloud: "cloud", key: "box"}, map[string]*record{}
	for _, name := range []string{"many-0", "many-1", "many-2", "many-3", "few-0", "few-1", "other-0"} {
		namespace, _, _ := strings.Cut(name, "-")
		all[name] = s.learn(object.ID{Namespace: namespace, Name: name}, types.UID(name))
		s.reserveChange(all[name], place)
	}
	for holder := "many-0"; holder != ""; {
		before := len(woken)
		s.endChange(all[holder])
		if holder = ""; len(woken) > before {
			holder = woken[before]
		}
	}
	want := []string{"few-0", "other-0", "many-1", "few-1", "many-2", "many-3"}
	if diff := cmp.Diff(want, woken); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// finalizers writes the finalizers of an object, as a user does.
func (w *toyWorld) finalizers(name, list string) {
	w.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":`+list+`}}`))
	w.must(w.c.Patch(w.t.Context(), w.read(name), patch))
	w.watch(name)
}
