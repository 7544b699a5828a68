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
