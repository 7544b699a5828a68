package external

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestAlter: alter requeues the existing objects of [Kind.Alters] to which the resource referred before or
// refers now, once each. For example, Port/old and Port/new are requeued.
func TestAlter(t *testing.T) {
	ports := openstackv1alpha1.GroupVersion.WithKind("Port")
	was := []sharedv1alpha1.ObservedDependency{
		{Kind: "Port", Name: "old", ID: "1"},
		{Kind: "Port", Name: "both", ID: "2"},
		{Kind: "Port", Name: "gone", ID: "3"},
		{Kind: "Flavor", Name: "old", ID: "4"},
	}
	is := []sharedv1alpha1.ObservedDependency{{Kind: "Port", Name: "new", ID: "5"}, {Kind: "Port", Name: "both", ID: "2"}}
	for policy, want := range map[sharedv1alpha1.ManagementPolicy][]string{
		sharedv1alpha1.PolicyManaged: {"both", "new", "old"}, sharedv1alpha1.PolicyUnmanaged: nil,
	} {
		r, clock := newReconciler()
		r.kind.Alters = []schema.GroupKind{ports.GroupKind()}
		store := newStore()
		for _, name := range []string{"old", "new", "both", "other"} {
			port := &openstackv1alpha1.Port{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
			r.engine.records.learn(object.Of(port, ports.GroupKind()), port.UID)
			if err := store.Add(port); err != nil {
				t.Fatal(err)
			}
		}
		r.engine.kinds.Store(&[]*kind{{gvk: ports}})
		r.engine.core.Add(engine.Kind{GVK: ports, Example: &openstackv1alpha1.Port{}, Store: store})
		p := newPass()
		p.id.Namespace = "ns"
		p.Object.Spec.ManagementPolicy = policy
		p.before.Status.ObservedDependencies, p.Object.Status.ObservedDependencies = was, is
		r.alter(p)
		var got []string
		for _, obj := range r.engine.core.List(ports.GroupKind()) {
			id := object.Of(obj, ports.GroupKind())
			one := r.engine.records.of(id, obj.GetUID())
			if at := one.popAlteration(); at.Equal(clock.Now()) {
				got = append(got, id.Name)
			}
			if at := one.popAlteration(); !at.IsZero() {
				t.Errorf("%s is looked at twice", id.Name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: looked at again (-want +got):\n%s", policy, diff)
		}
	}
}

// TestAltered: a Server that serves as before the pass requeues no Port.
func TestAltered(t *testing.T) {
	serving := metav1.Condition{Type: condition.Available, Status: metav1.ConditionTrue}
	for reason, c := range map[string]struct {
		change func(*networkPass)
		want   bool
	}{
		"as before":        {func(*networkPass) {}, false},
		"serves since now": {func(p *networkPass) { p.before.Status.Conditions = nil }, true},
		"was corrected":    {func(p *networkPass) { p.corrected = true }, true},
		"uses others than then": {func(p *networkPass) {
			p.Object.Status.ObservedDependencies = []sharedv1alpha1.ObservedDependency{{}}
		}, true},
	} {
		r, _ := newReconciler()
		p := newPass(serving)
		c.change(p)
		if got := r.altered(p); got != c.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}
