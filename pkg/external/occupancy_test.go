package external

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestOccupancy (F8) lists which end of a use requeues a [Busy] deletion.
func TestOccupancy(t *testing.T) {
	subnet, network := Resource{subnets.GroupKind(), "s", "cloud"}, Resource{networks.GroupKind(), "n", "cloud"}
	const ends, stays = true, false
	type use func(name string, ends bool, resources ...Resource) *record
	cases := map[string]struct {
		reason string
		users  func(s *records, use use)
		wakes  bool
	}{
		"a user":             {"it used the subnet", func(_ *records, use use) { use("port", ends, subnet) }, true},
		"one that was moved": {"it stays", func(_ *records, use use) { use("port", stays, subnet) }, true},
		"one of elsewhere":   {"it has nothing to do with it", func(_ *records, use use) { use("port", ends) }, false},
		"a neighbour":        {"it may have used it", func(_ *records, use use) { use("port", ends, network) }, true},
		"one that is not last": {"another one uses it", func(_ *records, use use) {
			use("port", ends, subnet)
			use("other", stays, subnet)
		}, false},
		"a neighbour of one that ends": {"another one may use it", func(_ *records, use use) {
			use("port", ends, network)
			use("other", ends, network)
		}, false},
		"a neighbour of one that stays": {"that one is not waited for", func(_ *records, use use) {
			use("port", ends, network)
			use("other", stays, network)
		}, true},
		"a neighbour of one that waits": {"it may wait for that as well", func(s *records, use use) {
			use("port", ends, network)
			other := use("other", ends, network)
			s.beginDeletion(other, Resource{subnets.GroupKind(), "other", "cloud"}, []Resource{network})
			s.refuseDeletion(other)
		}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var woken []string
			s := newRecords(func(id object.ID) { woken = append(woken, id.Name) })
			use := func(name string, ends bool, resources ...Resource) *record {
				r := s.learn(object.ID{Name: name}, types.UID(name))
				s.use(r, resources, ends)
				return r
			}
			waiter := use("waiter", ends, network)
			c.users(s, use)
			s.beginDeletion(waiter, subnet, []Resource{network})
			s.refuseDeletion(waiter)
			use("port", stays)
			if got := slices.Contains(woken, "waiter"); got != c.wakes || s.isDeletionFree(waiter) != c.wakes {
				t.Errorf("%s: woken %t, free %t", c.reason, got, s.isDeletionFree(waiter))
			}
			woken = nil
			use("port", stays)
			if len(woken) > 0 {
				t.Errorf("woken twice: %v", woken)
			}
			for _, name := range []string{"waiter", "port", "other"} {
				s.forget(s.of(object.ID{Name: name}, types.UID(name)))
			}
			if n := s.size(); n > 0 {
				t.Errorf("%d things are remembered", n)
			}
		})
	}
}

// busyUntil makes the cloud refuse deletions while *inUse is true.
func (s *sharers) busyUntil(inUse *bool, err *Error) {
	s.cloud.on = func(call string, _ bool) error {
		if call == "delete" && *inUse {
			return err
		}
		return nil
	}
}

// again runs a pass over an object, and returns the pause until the next pass and the error.
func (s *sharers) again(name string) (time.Duration, error) {
	s.t.Helper()
	result, err := s.r.Reconcile(s.t.Context(), s.id(name))
	s.watch(name)
	return result.RequeueAfter, err
}

// TestBusySchedule (F8): a [Busy] deletion is repeated every busyPause for busyPeriod, even if events
// requeue the object more often, and then with the back-off of failures.
func TestBusySchedule(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.delete("a")
	s.cloud.calls = nil
	inUse := true
	s.busyUntil(&inUse, &Error{Class: Busy, Message: "one or more ports have an address"})
	const refused = "r1 one or more ports have an address"
	begin := s.clock.Now()
	for s.clock.Since(begin) < busyPeriod {
		pause, err := s.again("a")
		if err != nil || pause != busyPause {
			t.Fatalf("%s after the first attempt: again in %s, %v", s.clock.Since(begin), pause, err)
		}
		s.clock.SetTime(s.clock.Now().Add(busyPause / 4))
		if pause, err := s.again("a"); err != nil || pause != busyPause*3/4 {
			t.Fatalf("woken in between: again in %s, %v", pause, err)
		}
		s.expect("it was woken by something else", "delete", states{"a": refused})
		s.clock.SetTime(s.clock.Now().Add(busyPause * 3 / 4))
	}
	for range 3 {
		if pause, err := s.again("a"); err == nil || pause != 0 {
			t.Fatalf("after a minute: again in %s, %v", pause, err)
		}
		s.expect("it is in use for long", "delete", states{"a": refused})
	}
	inUse = false
	s.pass("a")
	s.expect("it is free", "delete", states{"a": "gone"})
	s.forgotten()
}

// TestBusyAfter (F8): [Error.After] replaces busyPause. Failures of other classes have their own back-off.
func TestBusyAfter(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.delete("a")
	inUse, err := true, &Error{Class: Busy, After: 7 * time.Second}
	s.busyUntil(&inUse, err)
	if pause, failed := s.again("a"); failed != nil || pause != err.After {
		t.Errorf("busy: again in %s, %v", pause, failed)
	}
	s.clock.SetTime(s.clock.Now().Add(err.After))
	for _, class := range []Class{Transient, Refused, Invalid} {
		err.Class, err.After = class, 0
		if pause, failed := s.again("a"); failed == nil || pause != 0 {
			t.Errorf("class %d: again in %s, %v", class, pause, failed)
		}
	}
}

// uses reports to the watch a Subnet that uses a Network, or the deletion of the Subnet.
func (s *sharers) uses(name, network string, changes ...func(*openstackv1alpha1.Subnet)) {
	s.t.Helper()
	e := s.r.engine
	if e.kindOf(subnets.GroupKind()) == nil {
		k := &kind{
			gvk: subnets, ended: func(object.ID, client.Object) {}, forget: e.records.forget,
			learn: func(*record, client.Object, string) {},
		}
		both := append(slices.Clone(*e.kinds.Load()), k)
		e.kinds.Store(&both)
		e.core.Add(engine.Kind{
			GVK: subnets, Example: &openstackv1alpha1.Subnet{}, Store: newStore(),
			Observe: func(id object.ID, c watch.Change[client.Object]) { e.observe(k, id, c) },
		})
	}
	one := &openstackv1alpha1.Subnet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns, UID: types.UID(name)}}
	one.Status.ObservedDependencies = []sharedv1alpha1.ObservedDependency{{Kind: "Network", Name: "a", ID: network}}
	if len(changes) == 0 {
		e.core.Observe(subnets.GroupKind(), watch.Change[client.Object]{Old: one})
		return
	}
	for _, change := range changes {
		change(one)
	}
	e.core.Observe(subnets.GroupKind(), watch.Change[client.Object]{New: one})
}

func isThere(*openstackv1alpha1.Subnet) {}

// TestBusyUntilFree (F8): the end of the last object that used the resource repeats the deletion at once,
// even if the end is reported while Actuator.Delete runs.
func TestBusyUntilFree(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.uses("one", "r1", isThere)
	s.uses("two", "r1", isThere)
	s.uses("other", "r2", isThere)
	s.delete("a")
	s.cloud.calls = nil
	inUse := true
	s.busyUntil(&inUse, &Error{Class: Busy, Message: "no"})
	s.pass("a")
	s.uses("other", "r2")
	s.uses("one", "r1")
	s.pass("a")
	s.expect("one of two is there", "delete", states{"a": "r1 no"})
	s.uses("two", "r1")
	s.pass("a")
	s.expect("none is there", "delete", states{"a": "r1 no"})
	if pause, err := s.again("a"); err != nil || pause != busyPause {
		t.Errorf("it was something else: again in %s, %v", pause, err)
	}
	s.expect("it was something else", "", states{"a": "r1 no"})
	s.uses("late", "r1", isThere)
	s.clock.SetTime(s.clock.Now().Add(busyPause))
	s.cloud.on = func(string, bool) error {
		s.cloud.on = nil
		s.uses("late", "r1")
		return &Error{Class: Busy, Message: "no"}
	}
	if pause, err := s.again("a"); err != nil || pause <= 0 || pause >= busyPause {
		t.Errorf("its user ended meanwhile: again in %s, %v", pause, err)
	}
	s.pass("a")
	s.expect("its user is gone", "delete delete", states{"a": "gone"})
}

// TestWentWithOwner: an object whose resource was inside the owner's deleted resource ends without a
// request. The object sends a request if its resource was outside ([Kind.Within]), or if another process
// deleted the owner.
func TestWentWithOwner(t *testing.T) {
	w := newOwnedWorld(t)
	restart := func() {
		w.restart()
		w.r.kind.Cascades = true
		w.r.kind.Within = func(id, other string) bool { return id != "blue-apart" && other == "blue-owner" }
		attach(w.r, w.store)
		w.watch("owner")
	}
	restart()
	all := []string{"owner", "in", "apart", "late"}
	w.create(all...)
	w.pass(all...)
	w.cloud.change(func(c *toyCloud) {
		c.calls, c.takes = nil, map[string][]string{"blue-owner": {"blue-in", "blue-apart", "blue-late"}}
	})
	w.delete(all...)
	w.passIn("in", taking)
	w.expect("the status says nothing of a short wait", states{"in": "blue-in"})
	w.later(taking, "in")
	w.expect("it leaves the deletion to the owner",
		states{"in": "blue-in Waiting for Network/owner to be deleted, which takes resource along"})
	w.pass("owner", "in", "apart")
	w.expect("gone with the owner", states{"owner": "gone", "in": "gone", "apart": "gone"},
		"DELETE /things/blue-owner", "GET /things/blue-apart")
	restart()
	w.pass("late")
	w.expect("another process reads the resource", states{"late": "gone"}, "GET /things/blue-late")
	w.forgotten()
}

// TestCreatedAgain: records.setAttempt resets record.container, because a resource that is created after
// the end of the owner's resource was not deleted with the owner.
func TestCreatedAgain(t *testing.T) {
	s := newRecords(nil)
	r := s.learn(used, "1")
	r.container.Store(&container{id: "group"})
	s.startAttempt(r, cloudKey{key: "net"}, time.Time{})
	if gone := r.endOf(); gone != (container{}) {
		t.Errorf("the record has %v", gone)
	}
}
