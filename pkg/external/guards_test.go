package external

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestOwners: an object waits for its owner, has an owner reference with the uid of the owner, and
// keeps that reference when another owner of the same name comes.
func TestOwners(t *testing.T) {
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
}

// TestObserved: an entry of status.observedDependencies names an object of the group that the
// relation refers to.
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
