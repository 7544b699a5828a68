package external

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
