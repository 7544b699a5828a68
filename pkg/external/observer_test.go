package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// unbilled is an [Options.Account] that counts nothing.
func unbilled(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// shelf is an Actuator and a [Lister] that counts the calls of Get and List.
type shelf struct {
	all          []string
	gets, lists  int
	whileListing func()
	refuses      error
}

// List implements Lister.
func (s *shelf) List(context.Context) ([]string, error) {
	s.lists++
	if s.whileListing != nil {
		s.whileListing()
	}
	return s.all, s.refuses
}

// watching returns an observer, its clock, and a function that calls observer.look.
func watching(t *testing.T, s *shelf) (
	o *observer[string], clock *clocktesting.FakePassiveClock, look func(id string, after time.Time) error,
) {
	t.Helper()
	clock = clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	o = newObserver(clock, func(id string) Identity { return Identity{ID: id} }, unbilled)
	return o, clock, func(id string, after time.Time) error {
		here := lookup{scope: "here", id: id, after: after}
		got, err := o.look(t.Context(), here, s, func(context.Context) (string, error) {
			s.gets++
			return "", errors.New("asked for by itself")
		})
		if err == nil && got != id {
			return errors.New("another one: " + got)
		}
		return err
	}
}

// TestLook: a single List serves simultaneous reads. A read that the list can't serve calls Get.
func TestLook(t *testing.T) {
	s := &shelf{all: []string{"a", "b"}}
	o, clock, look := watching(t, s)
	expect := func(reason string, err error, gets, lists int, alone bool) {
		t.Helper()
		if (err != nil) != alone || s.gets != gets || s.lists != lists {
			t.Errorf("%s: %v after %d single looks and %d lists", reason, err, s.gets, s.lists)
		}
	}
	never := time.Time{}
	expect("nobody else looks", look("a", never), 1, 0, true)
	expect("a second one at once", look("a", never), 1, 1, false)
	expect("and a third", look("b", never), 1, 1, false)
	expect("that it is gone is not concluded from a list", look("c", never), 2, 1, true)
	o.changed("here")
	expect("what was changed is listed anew", look("a", never), 2, 2, false)
	expect("a list from before a moment does not show what came of it", look("a", clock.Now().Add(1)), 3, 3, true)
	clock.SetTime(clock.Now().Add(fresh / 2))
	expect("a list is good for a while", look("a", never), 3, 3, false)
	clock.SetTime(clock.Now().Add(fresh / 2))
	expect("and no longer", look("a", never), 3, 4, false)
	s.refuses = &Error{Class: Missing, Message: "lists are for others"}
	o.changed("here")
	expect("who may not list looks by himself", look("a", never), 4, 5, true)
	clock.SetTime(clock.Now().Add(fresh))
	expect("nobody else looks any more", look("a", never), 5, 5, true)
}

// rough is a shelf whose lists lack fields of some resources ([PartialLister]).
type rough struct {
	*shelf

	partial string
}

// IsPartial implements PartialLister.
func (r *rough) IsPartial(id string) bool { return id == r.partial }

// TestLookPartial: a partial list serves the reads of a resource in the middle of a change
// (lookup.underway). Without lookup.underway, observer.look calls Get and no List.
func TestLookPartial(t *testing.T) {
	r := &rough{shelf: &shelf{all: []string{"ended", "underway"}}, partial: "ended"}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	o := newObserver(clock, func(id string) Identity { return Identity{ID: id} }, unbilled)
	for _, c := range []struct {
		reason, id  string
		underway    bool
		gets, lists int
	}{
		{"nobody else looks", "underway", true, 1, 0},
		{"a list tells enough of what is under way", "underway", true, 1, 1},
		{"what has ended since is read singly", "ended", true, 2, 1},
		{"what had ended before is read singly", "ended", false, 3, 1},
		{"also what may be under way again", "underway", false, 4, 1},
	} {
		got, err := o.look(t.Context(), lookup{scope: "here", id: c.id, underway: c.underway}, r,
			func(context.Context) (string, error) {
				r.gets++
				return c.id, nil
			})
		if err != nil || got != c.id || r.gets != c.gets || r.lists != c.lists {
			t.Errorf("%s: %q, %v after %d single looks and %d lists", c.reason, got, err, r.gets, r.lists)
		}
	}
}

// TestLookLetsGo: observer.expire frees the memory of a list, and keeps a newer list.
func TestLookLetsGo(t *testing.T) {
	s := &shelf{all: []string{"a"}}
	o, clock, look := watching(t, s)
	_ = look("a", time.Time{}) // Alone, and so no list.
	first := clock.Now()
	for range 2 {
		if err := look("a", time.Time{}); err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(fresh - 1))
	}
	o.changed("here")
	if err := look("a", time.Time{}); err != nil {
		t.Fatal(err)
	}
	v := o.scopes["here"]
	if o.expire(v, first); v.listed == nil {
		t.Error("the later list is gone")
	}
	if o.expire(v, v.taken); v.listed != nil {
		t.Error("the list is kept")
	}
}

// TestLookWhileChanged: a list that was requested before a change serves no read after the change.
func TestLookWhileChanged(t *testing.T) {
	s := &shelf{all: []string{"a"}}
	o, _, look := watching(t, s)
	s.whileListing = func() { o.changed("here") }
	_ = look("a", time.Time{}) // Alone, and so no list.
	if err := look("a", time.Time{}); err != nil || s.lists != 1 {
		t.Fatalf("%v after %d lists", err, s.lists)
	}
	s.whileListing = nil
	if err := look("a", time.Time{}); err != nil || s.lists != 2 {
		t.Errorf("%v after %d lists", err, s.lists)
	}
}

// TestLookTooLong: after [Error.TooMuch], no List is called for the time unlisted. Get reads each
// resource, and end is called for the account of the list.
func TestLookTooLong(t *testing.T) {
	s := &shelf{all: []string{"a"}}
	o, clock, look := watching(t, s)
	open := 0
	o.account = func(ctx context.Context) (context.Context, func()) {
		open++
		return ctx, func() { open-- }
	}
	expect := func(reason string, gets, lists, accounts int) {
		t.Helper()
		_ = look("a", time.Time{})
		if s.gets != gets || s.lists != lists || open != accounts {
			t.Errorf("%s: %d single looks, %d lists, %d accounts", reason, s.gets, s.lists, open)
		}
	}
	expect("alone", 1, 0, 0)
	expect("a list on account", 1, 1, 1)
	o.changed("here")
	s.refuses = &Error{TooMuch: true, Message: "too long"}
	expect("it is too long", 2, 2, 0)
	expect("nobody asks again", 3, 2, 0)
	clock.SetTime(clock.Now().Add(2 * kept))
	o.crowded("elsewhere") // A new scope drops those that nobody looked at.
	_ = look("a", time.Time{})
	expect("nobody asks again after a pause", 5, 2, 0)
	clock.SetTime(clock.Now().Add(unlisted))
	_ = look("a", time.Time{})
	expect("later", 7, 3, 0)
	clock.SetTime(clock.Now().Add(unlisted))
	_ = look("a", time.Time{})
	s.refuses = nil
	expect("it has become short", 8, 4, 1)
	o.expire(o.scopes["here"], o.scopes["here"].taken)
	if open != 0 {
		t.Error("the list is kept on account")
	}
}

// TestLookDropsScopes: observer.view frees the memory of Scopes without recent reads. A list that was
// requested for a dropped view serves no later read.
func TestLookDropsScopes(t *testing.T) {
	s := &shelf{all: []string{"a"}}
	o, clock, look := watching(t, s)
	for i := range 1000 {
		_ = o.crowded(fmt.Sprint("scope ", i))
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if n, most := len(o.scopes), int(kept/time.Second)+1; n > most {
		t.Errorf("%d scopes are kept, of which somebody has looked at %d within %s", n, most, kept)
	}
	_ = look("a", time.Time{}) // Alone, and so no list.
	s.whileListing = func() {
		s.whileListing = nil
		o.changed("here")
		clock.SetTime(clock.Now().Add(2 * kept))
		_ = o.crowded("other") // Drops the one whose list is under way.
		_ = look("a", time.Time{})
	}
	if err := look("a", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := look("a", time.Time{}); err != nil || s.lists != 2 {
		t.Errorf("%v after %d lists: one from before a change serves after it", err, s.lists)
	}
}

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
