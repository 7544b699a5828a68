package external

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// news is a recorder of events.
type news struct{ told []string }

// Eventf implements events.EventRecorder.
func (n *news) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	name := regarding.(client.Object).GetName()
	n.told = append(n.told, strings.Join([]string{name, kind, reason, action, fmt.Sprintf(note, args...)}, " "))
}

// expect compares the events since the last call of expect.
func (n *news) expect(t *testing.T, reason string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(n.told, "\n")); diff != "" {
		t.Errorf("%s: events (-want +got):\n%s", reason, diff)
	}
	n.told = nil
}

// newNews returns a toyWorld with a recorder of events.
func newNews(t *testing.T, put bool) (*toyWorld, *news) {
	t.Helper()
	w, n := newToyWorld(t, put), &news{}
	w.r.engine.Events = n
	return w, n
}

// TestNews: the creation and the deletion of a resource have an event each, with the id. Later passes emit
// no event.
func TestNews(t *testing.T) {
	w, n := newNews(t, false)
	w.create("a")
	w.pass("a")
	n.expect(t, "created", "a Normal Created Create resource t1 was created")
	w.pass("a")
	w.edit("a")
	w.pass("a")
	n.expect(t, "passes without a change")
	w.restart()
	w.r.engine.Events = n
	w.edit("a")
	w.pass("a")
	n.expect(t, "after a restart")
	w.delete("a")
	w.pass("a")
	n.expect(t, "deleted", "a Normal Deleted Delete resource t1 was deleted")
}

// TestNewsOfOperations: the events of a creation and a deletion are emitted when the operations have
// ended.
func TestNewsOfOperations(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.create("a")
	w.passIn("a", 3*time.Second)
	n.expect(t, "the creation has begun")
	w.later(3*time.Second, "a")
	n.expect(t, "created", "a Normal Created Create resource blue-a was created")
	w.delete("a")
	w.passIn("a", 3*time.Second)
	n.expect(t, "the deletion has begun")
	w.cloud.change(func(c *toyCloud) {
		delete(c.running, "op1") // It has ended.
		c.finish()
	})
	w.later(3*time.Second, "a")
	n.expect(t, "deleted", "a Normal Deleted Delete resource blue-a was deleted")
}

// TestNewsOfDeletionOnce: the API server refuses to remove the finalizer after a long deletion has ended. The next pass
// finds the resource missing again, and emits no second event.
func TestNewsOfDeletionOnce(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.create("a")
	w.passIn("a", 3*time.Second)
	w.later(3*time.Second, "a")
	w.delete("a")
	w.passIn("a", 3*time.Second)
	n.told = nil
	w.cloud.change(func(c *toyCloud) {
		delete(c.running, "op1") // It has ended.
		c.finish()
	})
	refused := 1
	w.r.engine.Live = interceptor.NewClient(w.c.(client.WithWatch), interceptor.Funcs{
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if refused > 0 {
				refused--
				return errors.New("refused")
			}
			return c.Apply(ctx, obj, opts...)
		},
	})
	w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
	if _, err := w.again("a"); err == nil {
		t.Error("the pass ends without the finalizer")
	}
	w.later(3*time.Second, "a")
	if refused > 0 {
		t.Error("nothing was refused")
	}
	n.expect(t, "deleted", "a Normal Deleted Delete resource blue-a was deleted",
		"a Warning TransientError Delete remove the finalizer: refused")
}

// TestNewsOfImports: an event says which resource an object took over. A resource that another client
// deleted has no event of a deletion.
func TestNewsOfImports(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.create("a")
	w.adopt("a")
	w.pass("a")
	n.expect(t, "adopted",
		"a Normal Adopted Import resource blue-a exists and belongs to this object, which deletes it at its end")
	w.cloud.change(func(c *toyCloud) { delete(c.things, "blue-a") })
	w.delete("a")
	w.pass("a")
	n.expect(t, "deleted by somebody else")
}

// TestNewsOfFailures: only the first of several failures with the same reason has an event.
func TestNewsOfFailures(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.create("a")
	w.pass("a")
	n.expect(t, "refused", "a Warning InvalidConfiguration Reconcile resource blue-a exists already, and this object "+
		"did not create it: set spec.adopt to take it over, or choose another name")
	w.edit("a")
	w.pass("a")
	n.expect(t, "refused for the same reason")
	w.cloud.change(func(c *toyCloud) { delete(c.things, "blue-a") })
	w.edit("a")
	w.pass("a")
	n.expect(t, "created at last", "a Normal Created Create resource blue-a was created")
}

// TestNewsAreShort: notes have at most 1024 bytes, because the API server refuses events with longer
// notes.
func TestNewsAreShort(t *testing.T) {
	const most = 1024
	n := &news{}
	e := New(nil, Options{Events: n})
	obj := &openstackv1alpha1.Network{}
	e.event(obj, "Normal", "Reason", "Action", "%s", strings.Repeat("ü", most))
	if got := strings.TrimPrefix(n.told[0], " Normal Reason Action "); len(got) > most || len(got) < most-8 {
		t.Errorf("the note has %d bytes, want %d at most", len(got), most)
	}
}

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
