package external

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// ask writes the annotation [LookNow] as a user does, and reports the change to the engine.
func (w *toyWorld) ask(name, value string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, LookNow, value)
	if err := w.c.Patch(w.t.Context(), w.read(name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
	w.watch(name)
}

// TestLookNow: each new value of [LookNow] makes a settled object read its resource once, and at most once
// in lookPause.
func TestLookNow(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	made := states{"a": "blue-a"}
	w.expect("created", made, "GET /things/blue-a", "PUT /things/blue-a")
	w.pass("a")
	w.expect("settled", made)
	w.ask("a", "1")
	w.pass("a")
	w.expect("asked", made, "GET /things/blue-a")
	w.pass("a")
	w.expect("settled again", made)
	w.ask("a", "1")
	w.pass("a")
	w.expect("the same value", made)
	for i := range 10 {
		w.ask("a", fmt.Sprint("again ", i))
		if after, err := w.again("a"); err != nil || after <= 0 || after > lookPause {
			t.Fatalf("asked too early: again after %s, error %v; want at most %s", after, err, lookPause)
		}
	}
	w.expect("asked too early", made)
	w.later(lookPause, "a")
	w.expect("when it may be", made, "GET /things/blue-a")
	w.later(lookPause, "a")
	w.expect("ten requests are one look", made)
}

// TestLookNowDrift: a comparison by [LookNow] finds and corrects a change that another client made in the
// cloud.
func TestLookNowDrift(t *testing.T) {
	w := newToyWorld(t, true)
	w.r.kind.Differs = func(_ Input[netKind], id string) (fields []string) {
		w.cloud.change(func(c *toyCloud) {
			if c.things[id].Colour != "red" {
				fields = []string{"red"}
			}
		})
		return fields
	}
	w.create("a")
	w.pass("a")
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"].Colour, c.calls = "green", nil })
	w.pass("a")
	w.expect("nobody has asked", states{"a": "blue-a"})
	w.ask("a", "now")
	w.pass("a")
	w.expect("corrected", states{"a": "blue-a"}, "GET /things/blue-a", "PATCH /things/blue-a")
}

// TestLookNowRefused: [LookNow] makes a refused object try again.
func TestLookNowRefused(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.create("a")
	w.passIn("a", vacated)
	w.cloud.change(func(c *toyCloud) { clear(c.things); c.calls = nil })
	w.ask("a", "now")
	w.pass("a")
	w.expect("created", states{"a": "blue-a"}, "GET /things/blue-a", "PUT /things/blue-a")
}

// TestLookWanted lists the changes of annotations that request a comparison.
func TestLookWanted(t *testing.T) {
	of := func(annotations map[string]string) *openstackv1alpha1.Network {
		n := &openstackv1alpha1.Network{}
		n.SetAnnotations(annotations)
		return n
	}
	with := func(value string) *openstackv1alpha1.Network { return of(map[string]string{LookNow: value}) }
	for reason, c := range map[string]struct {
		old, now *openstackv1alpha1.Network
		want     bool
	}{
		"a first value":       {of(nil), with("1"), true},
		"another value":       {with("1"), with("2"), true},
		"the same value":      {with("1"), with("1"), false},
		"no value any more":   {with("1"), of(nil), false},
		"seen at a restart":   {nil, with("1"), false},
		"another annotation":  {of(nil), of(map[string]string{"kinship.dev/look": "1"}), false},
		"an empty annotation": {of(nil), with(""), false},
	} {
		r, clock := newReconciler()
		one := r.engine.records.learn(used, "uid")
		var old client.Object
		if c.old != nil {
			old = c.old
		}
		r.engine.lookWanted(one, old, c.now)
		looks := slices.Repeat([]bool{false}, 2)
		for i := range looks {
			looks[i], _ = one.popLook(clock.Now())
			clock.SetTime(clock.Now().Add(time.Minute))
		}
		if looks[0] != c.want || looks[1] {
			t.Errorf("%s: looks %v, want one: %t", reason, looks, c.want)
		}
	}
}
