package external

import (
	"context"
	"errors"
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

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// deletions is a cloud that only implements Delete. The first calls of Delete fail.
type deletions struct {
	Actuator[*openstackv1alpha1.Network, string]

	fails int
	done  []string
}

// Delete implements Actuator.
func (d *deletions) Delete(_ context.Context, _ Input[*openstackv1alpha1.Network], id string) error {
	if d.fails--; d.fails >= 0 {
		return errors.New("not yet")
	}
	d.done = append(d.done, id)
	return nil
}

// TestStrays: the resource that is created while its object is deleted is deleted too, and the guards on
// the targets are kept until then. The resources of other deleted objects are left alone, and no record is
// kept.
func TestStrays(t *testing.T) {
	const finalizer = "example.com/network"
	cases := map[string]struct {
		reason string
		change func(last *openstackv1alpha1.Network)
		missed bool
		fails  int
		want   []string
	}{
		"made meanwhile": {reason: "nobody else knows of it", want: []string{"1"}},
		"not at once":    {reason: "it is tried again", fails: 2, want: []string{"1"}},
		"not recorded": {reason: "its id is claimed", want: []string{"1"}, change: func(last *openstackv1alpha1.Network) {
			last.Status.ID = nil
		}},
		"unmanaged": {reason: "it is not ours", change: func(last *openstackv1alpha1.Network) {
			last.Spec.ManagementPolicy = sharedv1alpha1.PolicyUnmanaged
		}},
		"detached": {reason: "it is to stay", change: func(last *openstackv1alpha1.Network) {
			last.Spec.ManagedOptions = &sharedv1alpha1.ManagedOptions{OnDelete: sharedv1alpha1.OnDeleteDetach}
		}},
		"had waited": {reason: "who took the finalizer off meant it", change: func(last *openstackv1alpha1.Network) {
			last.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}},
		"had no finalizer": {reason: "it was to stay", change: func(last *openstackv1alpha1.Network) {
			last.Finalizers = nil
		}},
		"made long ago": {reason: "it is not of that moment", change: func(last *openstackv1alpha1.Network) {
			last.Annotations["example.com/creation-intent"] = `{"uid":"first","time":"2026-11-21T11:57:59Z"}`
		}},
		"copied": {reason: "the intent is another object's", change: func(last *openstackv1alpha1.Network) {
			last.UID = "second"
		}},
		"missed": {reason: "it may have waited, and been let go", missed: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			last := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{
				Name: used.Name, Namespace: used.Namespace, UID: "first", Finalizers: []string{finalizer},
				Annotations: map[string]string{"example.com/creation-intent": `{"uid":"first","time":"2026-11-21T11:59:59Z"}`},
			}}
			last.Spec.ManagementPolicy, last.Status.ID = sharedv1alpha1.PolicyManaged, new("1")
			if c.change != nil {
				c.change(last)
			}
			r, cloud := newStrays(t, finalizer)
			cloud.fails = c.fails
			r.engine.records.claim(r.engine.records.learn(used, last.UID), r.claimed("", last, "1"), false)
			r.engine.core.Observe(networks.GroupKind(), watch.Change[client.Object]{New: last})
			r.engine.core.Observe(networks.GroupKind(), watch.Change[client.Object]{Old: last, Missed: c.missed})
			for i := range c.fails {
				if pause := r.sweep(t.Context(), used); pause <= 0 || !isHeld(r) {
					t.Errorf("after %d attempts: again in %s, target held: %t", i+1, pause, isHeld(r))
				}
			}
			if pause := r.sweep(t.Context(), used); pause != 0 || isHeld(r) {
				t.Errorf("at the end: again in %s, target held: %t", pause, isHeld(r))
			}
			if diff := cmp.Diff(c.want, cloud.done); diff != "" {
				t.Errorf("%s: deleted (-want +got):\n%s", c.reason, diff)
			}
			if n := r.engine.records.size(); n > 0 {
				t.Errorf("%d things are remembered", n)
			}
		})
	}
}

// newStrays returns a reconciler of Networks with an empty cache, and the cloud.
func newStrays(t *testing.T, finalizer string) (*networkReconciler, *deletions) {
	t.Helper()
	r, _ := newReconciler()
	cloud := &deletions{}
	toTarget := func(obj client.Object, _ relation.Kinds) []relation.Edge {
		return Named(obj, networks.GroupKind(), networks.GroupKind(), "spec", "target")
	}
	holds := relation.Relation{Name: "NetworkNetwork", Finalizer: finalizer, Extract: toTarget}
	r.engine.Group, r.finalizer = "example.com", finalizer
	r.kind.GVK, r.kind.Relations = networks, []relation.Relation{holds}
	r.kind.Connect = func(context.Context, Input[*openstackv1alpha1.Network]) (
		Access[*openstackv1alpha1.Network, string], error,
	) {
		return Access[*openstackv1alpha1.Network, string]{Actuator: cloud}, nil
	}
	r.observer = newObserver(r.engine.Clock, func(string) Identity { return Identity{} }, unbilled)
	attach(r, newStore())
	r.engine.kindOf(networks.GroupKind()).ended = func(id object.ID, last client.Object) { // Its queue does not run.
		if r.strayed(last) {
			r.engine.records.keepStray(r.engine.records.of(id, last.GetUID()), last)
		}
	}
	return r, cloud
}

// isHeld reports whether an object refers to the target (engine.Engine.Sources), such as the stray.
func isHeld(r *networkReconciler) bool {
	target := object.ID{Group: used.Group, Kind: used.Kind, Namespace: used.Namespace, Name: "target"}
	return len(r.engine.core.Sources(target, "")) > 0
}

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
