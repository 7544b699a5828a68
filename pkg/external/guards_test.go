package external

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// newOwnedWorld returns a toyWorld whose clients choose the ids ([Kind.Address]). Network/owner owns all
// other Networks.
func newOwnedWorld(t *testing.T) *toyWorld {
	t.Helper()
	w := newToyWorld(t, true)
	toOwner := func(obj client.Object, _ relation.Kinds) []relation.Edge {
		if obj.GetName() == "owner" {
			return nil
		}
		edges := Named(obj, networks.GroupKind(), networks.GroupKind(), "spec", "owner")
		edges[0].Role = relation.Owner
		return edges
	}
	w.relations = []relation.Relation{{
		Name: "NetworkOwner", Role: relation.Owner, Target: networks.GroupKind(), Extract: toOwner,
	}}
	w.restart()
	return w
}

// writers returns the field managers of an object, except the managers of its status.
func (w *toyWorld) writers(name string) (names []string) {
	w.t.Helper()
	for _, f := range w.read(name).ManagedFields {
		if strings.HasPrefix(f.Manager, "example.com/") && f.Subresource == "" {
			names = append(names, f.Manager+" "+string(f.Operation))
		}
	}
	return names
}

// TestOwners: an object waits for its owner, and has an owner reference with the uid of the owner. The
// object keeps that reference when another owner of the same name is created. A single write adds the
// reference and the finalizer.
func TestOwners(t *testing.T) {
	w := newOwnedWorld(t)
	w.create("a")
	w.pass("a")
	w.expect("no owner", states{"a": "none Waiting for Network/owner to be created"})
	w.create("owner")
	w.pass("owner", "a", "a")
	w.expect("created", states{"a": "blue-a", "owner": "blue-owner"},
		"GET /things/blue-owner", "PUT /things/blue-owner", "GET /things/blue-a", "PUT /things/blue-a")
	owner := w.read("owner")
	want := []metav1.OwnerReference{*metav1.NewControllerRef(owner, networks)}
	if diff := cmp.Diff(want, w.read("a").OwnerReferences); diff != "" {
		t.Errorf("owner references (-want +got):\n%s", diff)
	}
	writers := []string{"example.com/networkcontroller/finalizer Apply"}
	if diff := cmp.Diff(writers, w.writers("a")); diff != "" {
		t.Errorf("writers (-want +got):\n%s", diff)
	}
}

// TestOwnedSlowly: writes that follow applyFinalizer keep the owner reference on the object.
func TestOwnedSlowly(t *testing.T) {
	w := newOwnedWorld(t)
	w.create("owner", "a")
	w.pass("owner")
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.pass("a")
	want := []metav1.OwnerReference{*metav1.NewControllerRef(w.read("owner"), networks)}
	if diff := cmp.Diff(want, w.read("a").OwnerReferences); diff != "" {
		t.Errorf("owner references while the resource is created (-want +got):\n%s", diff)
	}
	w.later(3*time.Second, "a")
	w.expect("created", states{"a": "blue-a"}, "GET /things/blue-owner", "PUT /things/blue-owner",
		"GET /things/blue-a", "PUT /things/blue-a", "GET /operations/op1", "GET /things/blue-a")
	a := w.read("a") // A finalizer of another operator keeps the object after the operator's is removed.
	a.Finalizers = append(a.Finalizers, "example.org/other")
	w.must(w.c.Update(t.Context(), a))
	w.must(w.c.Delete(t.Context(), a))
	w.watch("a")
	p := w.r.begin(w.id("a"), w.r.engine.core.Get(w.id("a")))
	if o := w.r.removeFinalizer(t.Context(), p); !o.IsDone() {
		t.Fatal(o.Message())
	}
	a = w.read("a")
	if diff := cmp.Diff([]string{"example.org/other"}, a.Finalizers); diff != "" {
		t.Errorf("finalizers at the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, a.OwnerReferences); diff != "" {
		t.Errorf("owner references at the end (-want +got):\n%s", diff)
	}
}

// TestOwnersOfRefused: an object whose creation is refused has an owner reference too, so that the garbage
// collector deletes the object with its owner.
func TestOwnersOfRefused(t *testing.T) {
	w := newOwnedWorld(t)
	w.create("owner", "a")
	w.pass("owner")
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.pass("a")
	w.expect("another client's resource", states{"a": "none resource blue-a exists already, " +
		"and this object did not create it: set spec.adopt to take it over, or choose another name"},
		"GET /things/blue-owner", "PUT /things/blue-owner", "GET /things/blue-a")
	want := []metav1.OwnerReference{*metav1.NewControllerRef(w.read("owner"), networks)}
	if diff := cmp.Diff(want, w.read("a").OwnerReferences); diff != "" {
		t.Errorf("owner references (-want +got):\n%s", diff)
	}
}

// TestOrphaned: reconciler.conclude writes the status of an object without its owner only if the garbage
// collector has not deleted the object within the time collecting.
func TestOrphaned(t *testing.T) {
	w := newOwnedWorld(t)
	w.create("owner", "a")
	w.pass("owner", "a")
	owned, orphaned := states{"a": "blue-a"}, states{"a": "blue-a Waiting for Network/owner to be created"}
	w.expect("created", owned, "GET /things/blue-owner", "PUT /things/blue-owner", "GET /things/blue-a",
		"PUT /things/blue-a")
	lose := func() {
		t.Helper()
		w.must(w.store.Delete(w.read("owner")))
		w.passIn("a", collecting)
		w.expect("the owner is gone", owned)
	}
	lose()
	w.clock.SetTime(w.clock.Now().Add(collecting - time.Second))
	w.passIn("a", time.Second)
	w.expect("a moment before", owned)
	w.later(time.Second, "a")
	w.expect("not collected", orphaned)
	w.watch("owner")
	w.pass("a")
	w.expect("the owner is back", owned, "GET /things/blue-a")
	lose()
}

// TestObserved: an entry of status.observedDependencies names an object of the group in Relation.Target.
func TestObserved(t *testing.T) {
	e := New(nil, Options{Group: "example.com"})
	here := schema.GroupVersionKind{Group: "here", Kind: "App"}
	there := schema.GroupVersionKind{Group: "there", Kind: "Disk"}
	e.kinds.Store(&[]*kind{{gvk: here, relations: []relation.Relation{{Target: there.GroupKind()}}}, {gvk: there}})
	app := object.ID{Group: "here", Kind: "App", Namespace: "ns", Name: "a"}
	got, ok := e.observed(app, sharedv1alpha1.ObservedDependency{Kind: "Disk", Name: "d"})
	if want := (object.ID{Group: "there", Kind: "Disk", Namespace: "ns", Name: "d"}); !ok || got != want {
		t.Errorf("%v, a kind of the engine: %t; want %v", got, ok, want)
	}
	other := schema.GroupVersionKind{Group: "other", Kind: "Disk"}
	e.kinds.Store(&[]*kind{{gvk: here}, {gvk: other}, {gvk: there}})
	got, ok = e.observed(app, sharedv1alpha1.ObservedDependency{Group: "there", Kind: "Disk", Name: "d"})
	if want := (object.ID{Group: "there", Kind: "Disk", Namespace: "ns", Name: "d"}); !ok || got != want {
		t.Errorf("of two groups: %v, a kind of the engine: %t; want %v", got, ok, want)
	}
	if got, ok := e.observed(app, sharedv1alpha1.ObservedDependency{Kind: "Secret", Name: "s"}); ok {
		t.Errorf("%v is of a kind of the engine", got)
	}
}
