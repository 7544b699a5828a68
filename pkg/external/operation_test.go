package external

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// toyWorld is a toyCloud, and Networks that stand for its things.
type toyWorld struct {
	*sharers

	cloud *toyCloud
	actor toy
}

// newToyWorld returns the world of a cloud whose clients choose the ids, or whose cloud does.
func newToyWorld(t *testing.T, put bool) *toyWorld {
	t.Helper()
	cloud := &toyCloud{things: map[string]*thing{}, running: map[string]*operation{}}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	w := &toyWorld{newSharers(t), cloud, toy{server.URL, put}}
	w.restart()
	return w
}

// restart has another process begin.
func (w *toyWorld) restart() {
	w.sharers.restart()
	k := &w.r.kind
	k.Shared, k.Dated = nil, false
	k.Identify = func(id string) Identity { return Identity{ID: id} }
	k.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: w.actor, Scope: "scope"}, nil
	}
	if w.actor.put {
		k.Address = toyAddress
	}
	w.r.engine.Cloud = "the toy cloud"
}

// expect compares the states of objects, and the calls since the last time.
func (w *toyWorld) expect(reason string, states map[string]string, calls ...string) {
	w.t.Helper()
	w.sharers.expect(reason, "", states)
	var got []string
	w.cloud.change(func(c *toyCloud) { got, c.calls = c.calls, nil })
	if diff := cmp.Diff(strings.Join(calls, "\n"), strings.Join(got, "\n")); diff != "" {
		w.t.Fatalf("%s: calls (-want +got):\n%s", reason, diff)
	}
}

// passIn takes an object through a pass that asks for another one after a time.
func (w *toyWorld) passIn(want time.Duration) {
	w.t.Helper()
	if after, err := w.again("a"); err != nil || after != want {
		w.t.Fatalf("again after %s, error %v; want %s", after, err, want)
	}
}

// TestAddress: the id of Kind.Address is looked up once before the creation, and a resource that
// exists already is never changed by a PUT.
func TestAddress(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	w.expect("created", states{"a": "blue-a"}, "GET /things/blue-a", "PUT /things/blue-a")
	w.cloud.change(func(c *toyCloud) { c.things["blue-b"] = &thing{ID: "blue-b", Name: "of a person"} })
	w.create("b")
	w.pass("b")
	const refused = "none resource blue-b exists already, and this object did not create it: " +
		"set spec.adopt to take it over, or choose another name"
	w.expect("another has the id", states{"b": refused}, "GET /things/blue-b")
}

// TestLostAnswer: a resource whose creation was not answered is found, and not created twice: by
// Kind.Address, or by its name.
func TestLostAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		put           bool
		id            string
		first, second []string
	}{
		"id before the creation": {
			true, "blue-a", []string{"GET /things/blue-a", "PUT /things/blue-a"}, []string{"GET /things/blue-a"},
		},
		"id after the creation": {
			false, "t1", []string{"GET /things?name=a", "POST /things"}, []string{"GET /things?name=a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newToyWorld(t, c.put)
			w.cloud.change(func(cloud *toyCloud) { cloud.lose = strings.Fields(c.first[1])[0] })
			w.create("a")
			w.pass("a")
			w.expect("no answer", states{"a": "none no answer"}, c.first...)
			w.pass("a")
			w.expect("found", states{"a": c.id}, c.second...)
		})
	}
}

// TestOperation: an operation that creates a resource is asked for when the cloud says so, and by
// the next process too. Nothing is created twice.
func TestOperation(t *testing.T) {
	const waits = "none Waiting for resource to be created"
	for name, c := range map[string]struct {
		put        bool
		id         string
		begin, end []string
	}{
		"id before the creation": {
			true, "blue-a", []string{"GET /things/blue-a", "PUT /things/blue-a"}, []string{"GET /things/blue-a"},
		},
		"id after the creation": {
			false, "t1", []string{"GET /things?name=a", "POST /things"}, []string{"GET /things?name=a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newToyWorld(t, c.put)
			w.cloud.change(func(c *toyCloud) { c.slow = 3 })
			w.create("a")
			w.passIn(3 * time.Second)
			w.expect("begun", states{"a": waits}, c.begin...)
			operation := "GET /operations/op1"
			if !c.put {
				operation = "GET /operations/op2" // The thing has the number 1.
			}
			w.passIn(5 * time.Second)
			w.expect("it runs", states{"a": waits}, operation)
			w.restart()
			w.passIn(5 * time.Second)
			w.expect("another process goes on", states{"a": waits}, operation)
			w.pass("a")
			w.expect("it has ended", states{"a": c.id}, append([]string{operation}, c.end...)...)
		})
	}
}

// TestOperationFails: the reason of an operation that has failed is in the condition, and the
// creation is not repeated before the spec changes. An operation that the cloud has forgotten is
// begun again.
func TestOperationFails(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow, c.refuse = 1, "no" })
	w.create("a")
	w.pass("a")
	w.pass("a", "a")
	const refused = "none invalid configuration creating resource: the cloud refused"
	w.expect("it has failed", states{"a": refused},
		"GET /things/blue-a", "PUT /things/blue-a", "GET /operations/op1", "GET /things/blue-a")
	w.create("b")
	w.pass("b")
	w.cloud.change(func(c *toyCloud) { clear(c.running) })
	w.pass("b")
	w.expect("it is forgotten", states{"b": "none Waiting for resource to be created"},
		"GET /things/blue-b", "PUT /things/blue-b", "GET /operations/op2", "GET /things/blue-b", "PUT /things/blue-b")
}

// TestDeletionTakesLong: the resource of a deleted object is waited for until it is missing.
func TestDeletionTakesLong(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	w.cloud.change(func(c *toyCloud) { c.slow, c.calls = 1, nil })
	w.delete("a")
	w.passIn(3 * time.Second)
	const waits = "blue-a Waiting for resource to be deleted"
	w.expect("begun", states{"a": waits}, "DELETE /things/blue-a")
	w.pass("a")
	w.expect("it runs", states{"a": waits}, "GET /things/blue-a")
	w.cloud.change((*toyCloud).finish)
	w.pass("a")
	w.expect("it is gone", states{"a": "gone"}, "GET /things/blue-a")
	w.forgotten()
}
