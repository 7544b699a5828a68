package external

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeleteOwned: deleteOwned deletes an owned object whose resource was deleted with the owner's. An
// object with another owner is left to the garbage collector, and an object that has changed meanwhile
// too. Before the end of the owner's resource, and if the objects become orphans, deleteOwned deletes
// nothing. The owner still exists here, so the garbage collector deletes nothing either.
func TestDeleteOwned(t *testing.T) {
	w := newOwnedWorld(t)
	w.r.kind.Cascades = true
	w.r.kind.Within = func(_, other string) bool { return other == "blue-owner" }
	attach(w.r, w.store)
	w.create("other", "owner", "in", "shared", "changed")
	w.pass("owner", "in", "shared", "changed")
	shared := w.read("shared")
	shared.OwnerReferences = append(shared.OwnerReferences, metav1.OwnerReference{
		APIVersion: networks.GroupVersion().String(), Kind: networks.Kind, Name: "other", UID: w.read("other").UID,
	})
	w.must(w.c.Update(t.Context(), shared))
	w.watch("shared")
	changed := w.read("changed")
	changed.Labels = map[string]string{"new": "yes"}
	w.must(w.c.Update(t.Context(), changed)) // The watch has not reported the change.
	w.delete("owner")

	p := w.r.begin(w.id("owner"), w.r.engine.core.Get(w.id("owner")))
	deleted := func(reason string, want ...string) {
		t.Helper()
		if o := w.r.deleteOwned(t.Context(), p); !o.IsDone() {
			t.Fatal(o.Message())
		}
		var got []string
		for _, name := range []string{"in", "shared", "changed"} {
			if w.read(name).DeletionTimestamp != nil {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: deleted objects (-want +got):\n%s", reason, diff)
		}
	}
	deleted("the resource is there")
	w.r.recordEnd(p, "blue-owner")
	p.Object.SetFinalizers(append(p.Object.GetFinalizers(), metav1.FinalizerOrphanDependents))
	deleted("orphans")
	p.Object.SetFinalizers(nil)
	deleted("the resource is gone", "in")
	w.watch("in")
	w.cloud.change(func(c *toyCloud) { c.calls = nil })
	w.pass("in")
	w.expect("the object ends", states{"in": "gone"})
}
