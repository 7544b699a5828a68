package external

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// deleter records the names of objects in requests to delete, and refuses to delete a protected object as
// a webhook of the pack usage does.
type deleter struct {
	client.Client

	mu        sync.Mutex
	protected string
	names     []string
	takes     func() // is called during a request to delete
}

func (d *deleter) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	d.mu.Lock()
	d.names = append(d.names, obj.GetName())
	if d.takes != nil {
		d.takes()
	}
	d.mu.Unlock()
	if obj.GetName() == d.protected {
		err := apierrors.NewConflict(schema.GroupResource{Resource: "networks"}, obj.GetName(), nil)
		err.ErrStatus.Message = `admission webhook "x" denied the request: it is in use`
		return err
	}
	return d.Client.Delete(ctx, obj, options...)
}

// newTree returns a world in which each object has an owner: x-y is owned by x, and another object by the
// object "owner".
func newTree(t *testing.T) (*toyWorld, *deleter) {
	t.Helper()
	w := newToyWorld(t, true)
	toOwner := func(obj client.Object, _ relation.Kinds) []relation.Edge {
		name := "owner"
		if i := strings.LastIndex(obj.GetName(), "-"); i > 0 {
			name = obj.GetName()[:i]
		} else if obj.GetName() == name {
			return nil
		}
		edges := Named(obj, networks.GroupKind(), networks.GroupKind(), "spec", name)
		edges[0].Role = relation.Owner
		return edges
	}
	w.relations = []relation.Relation{{
		Name: "NetworkOwner", Role: relation.Owner, Target: networks.GroupKind(), Extract: toOwner,
	}}
	w.restart()
	w.r.kind.Cascades = true
	w.r.kind.Within = func(_, other string) bool { return other == "blue-owner" }
	attach(w.r, w.store)
	d := &deleter{Client: w.c}
	w.r.engine.Live = d
	return w, d
}

// TestDeleteOwned: a pass over a deleted owner deletes the objects of its tree, whose resources went with
// the owner's. Objects stay below an object that stays: an object with another owner, an object that has
// changed, a protected object, and an object whose dependents become orphans.
func TestDeleteOwned(t *testing.T) {
	w, d := newTree(t)
	parents := []string{"in", "shared", "changed", "protected", "orphaning"}
	all := append(make([]string, 0, 1+2*len(parents)), "owner")
	for _, name := range parents {
		all = append(all, name, name+"-child")
	}
	w.create(all...)
	w.pass(all...)
	d.protected = "protected"
	shared := w.read("shared")
	shared.OwnerReferences = append(shared.OwnerReferences, metav1.OwnerReference{
		APIVersion: networks.GroupVersion().String(), Kind: networks.Kind, Name: "protected", UID: w.read("protected").UID,
	})
	w.must(w.c.Update(t.Context(), shared))
	orphaning := w.read("orphaning")
	orphaning.Finalizers = append(orphaning.Finalizers, metav1.FinalizerOrphanDependents)
	w.must(w.c.Update(t.Context(), orphaning))
	for _, name := range all {
		w.watch(name)
	}
	changed := w.read("changed")
	changed.Labels = map[string]string{"new": "yes"}
	w.must(w.c.Update(t.Context(), changed)) // The watch has not reported the change.

	w.delete("owner")
	w.pass("owner")
	slices.Sort(d.names) // The changed and the protected object are not deleted, so nothing below is.
	if diff := cmp.Diff([]string{"changed", "in", "in-child", "orphaning", "protected"}, d.names); diff != "" {
		t.Errorf("requests to delete (-want +got):\n%s", diff)
	}
	w.watch("in")
	w.cloud.change(func(c *toyCloud) { c.calls = nil })
	w.pass("in")
	w.expect("the object ends without a request", states{"in": "gone"})
}

// TestDeleteOwnedEarly: once the cloud has accepted the deletion of an owner's resource, a pass over the owner
// deletes the objects of its tree. The objects wait for the owner, and then end without a request to the cloud.
func TestDeleteOwnedEarly(t *testing.T) {
	w, d := newTree(t)
	w.create("owner", "in", "in-child")
	w.pass("owner", "in", "in-child")
	w.r.kind.Lingers = true
	w.cloud.change(func(c *toyCloud) {
		c.calls, c.slow, c.takes = nil, 1, map[string][]string{"blue-owner": {"blue-in", "blue-in-child"}}
	})
	d.takes = func() { w.clock.SetTime(w.clock.Now().Add(time.Second)) }
	w.delete("owner")
	w.passIn("owner", time.Second) // Of the 3 s that the cloud asks for, two requests took 2 s.
	w.expect("accepted", states{}, "DELETE /things/blue-owner")
	if diff := cmp.Diff([]string{"in", "in-child"}, d.names); diff != "" {
		t.Errorf("requests to delete (-want +got):\n%s", diff)
	}
	for _, name := range []string{"in", "in-child"} {
		w.watch(name)
		w.passIn(name, taking)
	}
	w.cloud.change(func(c *toyCloud) { c.running["op1"].end() })
	w.later(time.Second, "owner")
	w.pass("in", "in-child")
	w.expect("ended", states{"owner": "gone", "in": "gone", "in-child": "gone"}, "GET /things/blue-owner")
	if len(d.names) != 2 {
		t.Errorf("requests to delete: %q", d.names)
	}
}

// TestDeleteOwnedAfterRestart: an operator that finds the resource of a deleted owner in deletion deletes the
// objects of the tree too.
func TestDeleteOwnedAfterRestart(t *testing.T) {
	w, d := newTree(t)
	w.create("owner", "in")
	w.pass("owner", "in")
	w.r.kind.Cascades = false // The first operator ends before it deletes the tree.
	w.r.engine.Specific = true
	w.r.kind.Lingers = true
	w.cloud.change(func(c *toyCloud) { c.calls, c.slow = nil, 1 })
	w.delete("owner")
	w.pass("owner")
	w.expect("accepted", states{}, "DELETE /things/blue-owner")

	w.restart()
	w.r.kind.Cascades, w.r.kind.Lingers = true, true
	w.r.kind.Leaving = func(string) bool { return true }
	attach(w.r, w.store)
	w.r.engine.Live = d
	w.watch("owner")
	w.watch("in")
	w.pass("owner")
	w.expect("in deletion", states{}, "GET /things/blue-owner")
	if diff := cmp.Diff([]string{"in"}, d.names); diff != "" {
		t.Errorf("requests to delete (-want +got):\n%s", diff)
	}
}
