package external

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

type netKind = *openstackv1alpha1.Network

// oneCloud is a cloud with at most one resource of a sort, such as r1, which objects share.
type oneCloud struct {
	clock clocktesting.FakePassiveClock
	made  map[string]time.Time // when each was made
	last  int                  // the number of the last one
	calls []string
	// on is called before and after each call is carried out. An error becomes the answer of the call. With
	// an error before the call, the call is not carried out.
	on func(call string, after bool) error
}

func (c *oneCloud) call(name string, do func() error) error {
	c.calls = append(c.calls, name)
	for _, after := range []bool{false, true} {
		if c.on != nil {
			if err := c.on(name, after); err != nil {
				return err
			}
		}
		if after {
			break
		}
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// refuse makes calls of a name fail before the calls are carried out.
func (c *oneCloud) refuse(name string, err error) {
	c.on = func(call string, _ bool) error {
		if call == name {
			return err
		}
		return nil
	}
}

func (c *oneCloud) has(id string) error {
	if _, ok := c.made[id]; !ok {
		return &Error{Class: Missing, Message: id + " is missing"}
	}
	return nil
}

func (c *oneCloud) Get(_ context.Context, _ Input[netKind], id string) (string, error) {
	return id, c.call("get", func() error { return c.has(id) })
}

func (c *oneCloud) Find(context.Context, Input[netKind], Search) (found []string, err error) {
	err = c.call("find", func() error {
		found = slices.Sorted(maps.Keys(c.made))
		return nil
	})
	return found, err
}

func (c *oneCloud) Create(context.Context, Input[netKind]) (id string, err error) {
	err = c.call("create", func() error {
		if len(c.made) > 0 {
			return &Error{Class: Invalid, Message: "there is one already"}
		}
		c.last++
		id = fmt.Sprint("r", c.last)
		c.made[id] = c.clock.Now()
		return nil
	})
	return id, err
}

func (c *oneCloud) Update(_ context.Context, _ Input[netKind], r string, _ []string) (string, error) {
	return r, nil
}

func (c *oneCloud) Delete(_ context.Context, _ Input[netKind], id string) error {
	return c.call("delete", func() error {
		err := c.has(id)
		delete(c.made, id)
		return err
	})
}

// sharers are objects that share a resource, with the reconciler and the caches of a test. Passes run only
// when the test calls sharers.pass.
type sharers struct {
	t     *testing.T
	r     *networkReconciler
	c     client.Client
	ns    string
	cloud *oneCloud
	// clouds has the value of [Access.Cloud] by the name of the object.
	clouds map[string]string
	store  toolscache.Store // what the watch has told
	clock  *clocktesting.FakePassiveClock
	// woken lists the names of requeued objects.
	woken []string
	// relations are the relations of the kind.
	relations []relation.Relation
}

func newSharers(t *testing.T) *sharers {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &sharers{t: t, c: testenv.Client(t, scheme), ns: testenv.Namespace(t)}
	s.cloud = &oneCloud{made: map[string]time.Time{}}
	s.restart()
	return s
}

// restart replaces the engine, as in a new process that only knows the objects of the API server.
func (s *sharers) restart() {
	s.t.Helper()
	s.r, s.clock = newReconciler()
	s.clock.SetTime(time.Now()) // As objects are dated.
	s.cloud.clock.SetTime(s.clock.Now())
	s.r.engine.Live, s.r.engine.Group, s.r.finalizer = s.c, "example.com", "example.com/network"
	s.r.kind = Kind[netKind, string]{
		GVK: networks, Relations: s.relations, Dated: true,
		Connect: func(_ context.Context, in Input[netKind]) (Access[netKind, string], error) {
			return Access[netKind, string]{Actuator: s.cloud, Scope: "scope", Cloud: s.clouds[in.Object.Name]}, nil
		},
		Cloud:    func(place string) string { return place },
		Identify: func(id string) Identity { return Identity{ID: id, Created: s.cloud.made[id]} },
		Name:     func(n netKind) string { return n.Name },
		Differs:  func(Input[netKind], string) []string { return nil },
		Observe:  func(netKind, string) reconcile.Outcome { return reconcile.Outcome{} },
		Shared:   func(Input[netKind]) string { return "the same" },
	}
	s.r.observer = newObserver(s.r.engine.Clock, s.r.kind.Identify, unbilled)
	wake := func(id object.ID) { s.woken = append(s.woken, id.Name) }
	s.r.engine.records.wake = wake
	s.store = newStore()
	attach(s.r, s.store)
	var all openstackv1alpha1.NetworkList
	if err := s.c.List(s.t.Context(), &all, client.InNamespace(s.ns)); err != nil {
		s.t.Fatal(err)
	}
	for i := range all.Items {
		s.watch(all.Items[i].Name)
	}
}

func (s *sharers) id(name string) object.ID {
	return object.ID{Group: networks.Group, Kind: networks.Kind, Namespace: s.ns, Name: name}
}

// read returns an object from the API server, or nil.
func (s *sharers) read(name string) netKind {
	s.t.Helper()
	n := &openstackv1alpha1.Network{}
	err := s.c.Get(s.t.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, n)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// watch reports the present version of an object to the engine, as the watch does.
func (s *sharers) watch(name string) {
	s.t.Helper()
	now, change := s.read(name), watch.Change[client.Object]{Old: s.r.engine.core.Get(s.id(name)), Missed: true}
	switch {
	case now != nil:
		s.must(s.store.Update(now))
		change.New, change.Missed = now, false
	case change.Old != nil:
		s.must(s.store.Delete(change.Old))
	default:
		return
	}
	s.r.engine.core.Observe(networks.GroupKind(), change)
}

func (s *sharers) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sharers) create(names ...string) {
	s.t.Helper()
	for _, name := range names {
		n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
		n.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{SecretName: "s", CloudName: "c"}
		n.Spec.ManagementPolicy, n.Spec.Resource = "managed", &openstackv1alpha1.NetworkResourceSpec{}
		s.must(s.c.Create(s.t.Context(), n))
		s.watch(name)
	}
}

func (s *sharers) delete(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.must(s.c.Delete(s.t.Context(), s.read(name)))
		s.watch(name)
	}
}

// adopt sets spec.adopt of an object.
func (s *sharers) adopt(name string) {
	s.t.Helper()
	patch := `{"spec":{"adopt":{"filter":{"name":"any"}}}}`
	s.must(s.c.Patch(s.t.Context(), s.read(name), client.RawPatch("application/merge-patch+json", []byte(patch))))
	s.watch(name)
}

// importer creates an object with spec.import.
func (s *sharers) importer(name string) {
	s.t.Helper()
	n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
	n.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{SecretName: "s", CloudName: "c"}
	n.Spec.ManagementPolicy = "unmanaged"
	n.Spec.Import = &openstackv1alpha1.NetworkImport{
		Filter: &openstackv1alpha1.NetworkFilter{Name: new(openstackv1alpha1.OpenStackName("any"))},
	}
	s.must(s.c.Create(s.t.Context(), n))
	s.watch(name)
}

// pass runs a pass over each of the named objects.
func (s *sharers) pass(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if _, err := s.r.Reconcile(s.t.Context(), s.id(name)); err != nil {
			s.t.Logf("%s: %v", name, err)
		}
		s.watch(name)
	}
}

// expect compares the state of each object, and the calls since the last call of expect. A state is
// status.id and the beginning of the message, or "gone".
func (s *sharers) expect(reason string, calls string, states map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	for name := range states {
		n := s.read(name)
		if n == nil {
			got[name] = "gone"
			continue
		}
		id := "none"
		if n.Status.ID != nil {
			id = *n.Status.ID
		}
		got[name] = id
		if c := meta.FindStatusCondition(n.Status.Conditions, condition.Progressing); c != nil && c.Reason != "Success" {
			got[name] = id + " " + c.Message
		}
	}
	if diff := cmp.Diff(states, got); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", reason, diff)
	}
	if diff := cmp.Diff(calls, strings.Join(s.cloud.calls, " ")); diff != "" {
		s.t.Fatalf("%s: calls (-want +got):\n%s", reason, diff)
	}
	s.cloud.calls = nil
}

// forgotten expects that records has no entry of any object.
func (s *sharers) forgotten() {
	s.t.Helper()
	if n := s.r.engine.records.size(); n > 0 {
		s.t.Errorf("%d things are remembered", n)
	}
}

type states = map[string]string

// TestShared (F4): two objects share a resource. The resource is deleted with the last object, in any
// order.
func TestShared(t *testing.T) {
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		s := newSharers(t)
		s.create("a", "b")
		s.pass("a")
		s.expect("it makes one", "create", states{"a": "r1"})
		s.cloud.on = func(call string, _ bool) error {
			if call == "get" && s.read("b").Status.ID == nil {
				t.Error("it counts as a user that no other process knows of")
			}
			return nil
		}
		s.pass("b")
		s.expect("it has the same", "find get", states{"a": "r1", "b": "r1"})
		s.delete(order...)
		s.pass(order[0])
		s.expect("the other one has it still", "", states{order[0]: "gone"})
		s.pass(order[1])
		s.expect("nobody else has it", "delete", states{order[1]: "gone"})
		s.forgotten()
	}
}

// TestSharedElsewhere: an object of another cloud that returns the same id is no user of the resource, not
// even after a restart.
func TestSharedElsewhere(t *testing.T) {
	s := newSharers(t)
	s.clouds = map[string]string{"a": "here", "b": "here", "foreign": "there"}
	s.create("a", "foreign")
	s.pass("a")
	s.expect("it makes one", "create", states{"a": "r1"})
	s.cloud.made["r1"] = s.clock.Now() // The other cloud says that it has this one.
	s.adopt("foreign")
	s.pass("foreign")
	s.expect("there it has that one", "find get", states{"foreign": "r1"})
	s.restart()
	s.delete("a")
	s.pass("a")
	s.expect("nobody else has it here", "delete", states{"a": "gone", "foreign": "r1"})
	s.create("b")
	s.pass("b")
	s.expect("it has nothing to do with that of the other cloud", "create", states{"b": "r2"})
}

// TestSharedLate (F4): an object that left its resource to another object (record.left) does not become a
// user again when a late watch reports the object.
func TestSharedLate(t *testing.T) {
	s := newSharers(t)
	s.create("a", "b")
	s.pass("a", "b")
	s.delete("a", "b")
	a := s.r.engine.core.Get(s.id("a"))
	if _, err := s.r.Reconcile(t.Context(), s.id("a")); err != nil {
		t.Fatal(err)
	}
	s.r.engine.core.Observe(networks.GroupKind(), watch.Change[client.Object]{Old: a, New: a})
	s.cloud.calls = nil
	s.pass("b")
	s.expect("the other one was gone", "delete", states{"a": "gone", "b": "gone"})
	s.watch("a")
	s.forgotten()
}

// TestSharedAfterRestart (F4): another process learns from status.id of each object which object uses
// which resource.
func TestSharedAfterRestart(t *testing.T) {
	s := newSharers(t)
	s.create("a", "b")
	s.pass("a", "b")
	s.create("c")
	s.delete("a")
	s.cloud.calls = nil
	s.restart()
	s.pass("a")
	s.expect("another one has it", "", states{"a": "gone"})
	s.pass("c")
	s.expect("it is refused, and shares it", "create find get", states{"b": "r1", "c": "r1"})
	s.delete("b", "c")
	s.restart()
	s.pass("c", "b")
	s.expect("the last one deletes it", "delete", states{"b": "gone", "c": "gone"})
	s.forgotten()
}

const ending = " Waiting for resource r1 to be deleted with the last object that had it"

// TestSharedEnds (F4): an object that is created while the last user deletes the resource waits for the
// end of the resource, and creates another resource.
func TestSharedEnds(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.create("b")
	s.delete("a")
	s.cloud.calls, s.woken = nil, nil
	s.cloud.on = func(call string, after bool) error {
		if call != "delete" || after {
			return nil
		}
		s.cloud.on = nil
		s.pass("b")
		s.expect("it is about to be deleted", "delete find", states{"b": "none" + ending})
		return nil
	}
	s.pass("a")
	if diff := cmp.Diff([]string{"b"}, s.woken); diff != "" {
		t.Errorf("woken at the end (-want +got):\n%s", diff)
	}
	s.pass("b")
	s.expect("there is none", "create", states{"a": "gone", "b": "r2"})
}

// TestSharedKept (F4): an object that is created while the last user can't delete the resource joins the
// resource, and the last user leaves the resource.
func TestSharedKept(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.create("b")
	s.delete("a")
	s.cloud.calls = nil
	s.cloud.refuse("delete", &Error{Class: Busy, Message: "in use"})
	s.pass("a", "b", "a")
	s.expect("it could not be deleted", "delete find get", states{"a": "gone", "b": "r1"})
}

// TestSharedUnknown (F4): after a Delete without an answer, the cloud may still delete the resource, so no
// object joins the resource meanwhile.
func TestSharedUnknown(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	s.pass("a")
	s.create("b")
	s.delete("a")
	s.cloud.calls = nil
	s.cloud.refuse("delete", &Error{Class: Transient, Message: "no answer"})
	s.pass("a", "b")
	s.expect("it may be deleted", "delete find", states{"a": "r1 no answer", "b": "none" + ending})
	s.cloud.on = nil
	s.pass("a", "b")
	s.expect("it is", "delete create", states{"a": "gone", "b": "r2"})
}

const strange = "none resource theirs exists already, and no object had it created: set spec.adopt to take it over, " +
	"or delete it in the cloud and create this object anew"

// TestSharedStranger (F4): an existing resource is kept, and objects are refused until an object sets
// spec.adopt. Then the other objects are requeued and join the resource.
func TestSharedStranger(t *testing.T) {
	s := newSharers(t)
	s.r.engine.Cloud = "the cloud"
	s.cloud.made["theirs"] = s.clock.Now() // In the same moment, even.
	s.create("a", "b")
	s.pass("a", "b")
	s.expect("nobody has it", "create find find create find", states{"a": strange, "b": strange})
	s.delete("a")
	s.pass("a")
	s.expect("it was not theirs", "", states{"a": "gone"})
	s.create("c")
	s.adopt("c")
	s.woken = nil
	s.pass("c")
	s.expect("it adopts it", "find get", states{"c": "theirs"})
	if diff := cmp.Diff([]string{"b"}, s.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	s.pass("b")
	s.expect("it shares it", "find get", states{"b": "theirs"})
	s.delete("b", "c")
	s.pass("c", "b")
	s.expect("it was adopted", "delete", states{"b": "gone", "c": "gone"})
	s.forgotten()
}

// TestSharedRefusedTooLate (F4): after a refused Create, Actuator.Find may no longer find the resource
// that exists already. Create is repeated once (memory.repeated).
func TestSharedRefusedTooLate(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	refused := 1
	s.cloud.on = func(call string, _ bool) error {
		if call == "create" && refused > 0 {
			refused--
			return &Error{Class: Invalid, Message: "no"}
		}
		return nil
	}
	s.pass("a", "a")
	s.expect("it is asked for again", "create find create", states{"a": "r1"})
	s.create("b")
	s.delete("a")
	s.pass("a")
	s.cloud.calls = nil
	refused = 10
	s.pass("b", "b", "b")
	s.expect("it is invalid", "create find create find",
		states{"b": "none invalid configuration creating resource: no"})
}

// TestSharedUnanswered (F4): a resource that another object may have created without an answer
// (record.unanswered) is not treated as a person's resource. The next pass of the other object decides.
func TestSharedUnanswered(t *testing.T) {
	s := newSharers(t)
	s.create("a", "b")
	s.cloud.on = func(call string, after bool) error {
		if call == "create" && after {
			s.cloud.on = nil
			return &Error{Class: Transient, Message: "no answer"}
		}
		return nil
	}
	s.pass("a", "b")
	s.expect("nobody knows yet", "create find", states{
		"a": "none no answer", "b": "none Waiting for another object that may have had resource r1 created",
	})
	s.woken = nil
	s.pass("a")
	if diff := cmp.Diff([]string{"b"}, s.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	s.pass("b")
	s.expect("it was made", "find find find get", states{"a": "r1", "b": "r1"})
}

// TestSharedAtOnce (F4): of two objects that create a resource at the same time, the second waits and is
// requeued (beginCreation).
func TestSharedAtOnce(t *testing.T) {
	s := newSharers(t)
	s.create("a", "b")
	s.cloud.on = func(call string, after bool) error {
		if call == "create" && after {
			s.cloud.on = nil
			s.pass("b")
			s.expect("the other one makes it", "create",
				states{"b": "none Waiting for another object to have the same resource created"})
		}
		return nil
	}
	s.pass("a")
	if diff := cmp.Diff([]string{"b"}, s.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	s.pass("b")
	s.expect("it has the same", "find get", states{"a": "r1", "b": "r1"})
}

// TestSharedLost (F4): a resource that another client deleted is created once, and the other users of the
// resource are requeued (wakeSharers).
func TestSharedLost(t *testing.T) {
	s := newSharers(t)
	s.create("a", "b")
	s.pass("a", "b")
	clear(s.cloud.made)
	s.cloud.calls = nil
	s.r.engine.records.of(s.id("a"), s.read("a").UID).noteAlteration(s.clock.Now())
	s.pass("a")
	s.expect("it is gone", "get find create", states{"a": "r2", "b": "r1"})
	s.pass("b")
	s.expect("it looks as well", "get find get", states{"b": "r2"})
}
