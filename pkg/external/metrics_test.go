package external

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// progress returns an object at generation 2 with the condition Progressing.
func progress(status metav1.ConditionStatus, reason string, generation int64) *openstackv1alpha1.Network {
	n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: reason, Namespace: "ns", Generation: 2}}
	n.Status.Conditions = []metav1.Condition{{
		Type: condition.Progressing, Status: status, Reason: reason, ObservedGeneration: generation,
	}}
	return n
}

// TestStateOf: dashboards and alerts tell objects that wait from objects that fail, and objects that are
// tried again from objects that need a person.
func TestStateOf(t *testing.T) {
	deleted := progress("False", condition.ReasonSuccess, 2)
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		obj  *openstackv1alpha1.Network
		want string
	}{
		"no pass has ended":        {&openstackv1alpha1.Network{}, stateWaiting},
		"serves":                   {progress("False", condition.ReasonSuccess, 2), stateReady},
		"of an earlier spec":       {progress("False", condition.ReasonSuccess, 1), stateWaiting},
		"refused an earlier spec":  {progress("False", condition.ReasonInvalidConfiguration, 1), stateWaiting},
		"waits":                    {progress("True", condition.ReasonProgressing, 2), stateWaiting},
		"waits for its owner":      {progress("True", condition.ReasonWaitingForOwner, 2), stateWaiting},
		"is in use":                {progress("True", condition.ReasonInUse, 2), stateWaiting},
		"is tried again":           {progress("True", condition.ReasonTransientError, 2), stateFailing},
		"the reason of the cloud":  {progress("True", "QuotaExceeded", 2), stateFailing},
		"a person has to act":      {progress("False", condition.ReasonInvalidConfiguration, 2), stateStuck},
		"nobody can help":          {progress("False", condition.ReasonUnrecoverableError, 2), stateStuck},
		"is deleted, and serves":   {deleted, stateDeleting},
		"another condition's word": {progress("Unknown", condition.ReasonImmutable, 2), stateStuck},
	} {
		if got := stateOf(c.obj); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestMetrics: each kind has each state, also with 0 objects, and the objects without a turn and the open
// circuits of that kind.
func TestMetrics(t *testing.T) {
	r, _ := newReconciler()
	r.kind = Kind[netKind, string]{GVK: networks}
	store := newStore()
	attach(r, store)
	r.engine.addKind(&kind{gvk: subnets, turns: r.turns})
	for _, obj := range []*openstackv1alpha1.Network{
		progress("False", condition.ReasonSuccess, 2), progress("True", condition.ReasonTransientError, 2),
		progress("True", "QuotaExceeded", 2),
	} {
		if err := store.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	r.turns.share = 1
	first, second := used, used
	first.Name, second.Name = "first", "second"
	for _, id := range []struct{ place string }{{"full"}, {"broken"}} {
		r.turns.request(first, id.place)
	}
	r.turns.request(second, "full")
	r.turns.leave(first, "broken", verdict{failure: &Error{After: longestAsked, Outage: true}})
	registry := prometheus.NewRegistry()
	if err := registry.Register(r.engine.Metrics()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			parts := []string{strings.TrimPrefix(family.GetName(), "kinship_external_")}
			for _, label := range m.GetLabel() {
				parts = append(parts, label.GetValue())
			}
			if v := m.GetGauge().GetValue(); v != 0 {
				got[strings.Join(parts, " ")] = v
			} else {
				got["zero "+family.GetName()]++
			}
		}
	}
	group := networks.Group
	want := map[string]float64{
		"objects " + group + " Network ready": 1, "objects " + group + " Network failing": 2,
		"objects_without_turn " + group + " Network": 1, "open_circuits " + group + " Network": 1,
		"zero kinship_external_objects": 3 + 5, "zero kinship_external_objects_without_turn": 1,
		"zero kinship_external_open_circuits": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
