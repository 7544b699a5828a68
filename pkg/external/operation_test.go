package external

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// toyWorld is a toyCloud, with Networks that stand for its things.
type toyWorld struct {
	*sharers

	cloud *toyCloud
	actor toy[netKind]
}

// newToyWorld returns the world of a toyCloud. With put, the clients choose the ids ([Kind.Address]).
func newToyWorld(t *testing.T, put bool) *toyWorld {
	t.Helper()
	cloud := &toyCloud{things: map[string]*thing{}, running: map[string]*operation{}}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	w := &toyWorld{newSharers(t), cloud, toy[netKind]{server.URL, put}}
	w.restart()
	return w
}

// restart replaces the engine, as in a new process.
func (w *toyWorld) restart() {
	w.sharers.restart()
	k := &w.r.kind
	k.Shared, k.Dated = nil, false
	k.Identify = func(id string) Identity { return Identity{ID: id} }
	k.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: w.actor, Scope: "scope"}, nil
	}
	if w.actor.put {
		k.Address = toyAddress[netKind]
	}
	w.r.engine.Cloud = "the toy cloud"
}

// expect compares the states of objects, and the calls since the last call of expect.
func (w *toyWorld) expect(reason string, states map[string]string, calls ...string) {
	w.t.Helper()
	w.sharers.expect(reason, "", states)
	var got []string
	w.cloud.change(func(c *toyCloud) { got, c.calls = c.calls, nil })
	if diff := cmp.Diff(strings.Join(calls, "\n"), strings.Join(got, "\n")); diff != "" {
		w.t.Fatalf("%s: calls (-want +got):\n%s", reason, diff)
	}
}

// passIn runs a pass over an object, and expects a next pass after the pause want.
func (w *toyWorld) passIn(name string, want time.Duration) {
	w.t.Helper()
	if after, err := w.again(name); err != nil || after != want {
		w.t.Fatalf("again after %s, error %v; want %s", after, err, want)
	}
}

// TestAddress: the engine calls Get once for [Kind.Address] before the creation. A resource that exists
// already is never changed by a PUT.
func TestAddress(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	w.expect("created", states{"a": "blue-a"}, "GET /things/blue-a", "PUT /things/blue-a")
	w.cloud.change(func(c *toyCloud) { c.things["blue-b"] = &thing{ID: "blue-b", Name: "of a person"} })
	w.create("b")
	w.passIn("b", vacated)
	const refused = "none resource blue-b exists already, and this object did not create it: " +
		"set spec.adopt to take it over, or choose another name"
	w.expect("another has the id", states{"b": refused}, "GET /things/blue-b")
	w.cloud.change(func(c *toyCloud) { delete(c.things, "blue-b") })
	w.pass("b")
	w.expect("the person deleted the resource", states{"b": "blue-b"}, "GET /things/blue-b", "PUT /things/blue-b")
}

// TestNoAddress: an object with an empty [Kind.Address] sends no request, and the condition has the
// reason.
func TestNoAddress(t *testing.T) {
	w := newToyWorld(t, true)
	w.r.kind.Address = func(Input[netKind]) string { return "" }
	w.create("a")
	w.pass("a")
	w.expect("no id", states{"a": "none the spec gives no id: no resource is named so"})
}

// TestImportByAddress: an object imports the resource at its own [Kind.Address]. An answer with the id of
// another resource is refused, because the deletion of the object would delete that resource.
func TestImportByAddress(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "theirs"} })
	w.create("a")
	w.adopt("a")
	w.pass("a")
	const lied = `none the toy cloud answered with Network "theirs" instead of "blue-a"`
	w.expect("another id", states{"a": lied}, "GET /things/blue-a")
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"].ID = "blue-a" })
	w.pass("a")
	w.expect("its own id", states{"a": "blue-a"}, "GET /things/blue-a")
}

// TestLostAnswer: findAttempt finds a resource whose Create got no answer, by [Kind.Address] or by its
// name. The resource is not created twice.
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

// later runs a pass over an object after the clock has advanced by d.
func (w *toyWorld) later(d time.Duration, name string) {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Add(d))
	w.pass(name)
}

// TestOperation: [Resumer.Resume] is called after Retry-After, not by an earlier pass, and also by the
// next process. The resource is created once.
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
			w.passIn("a", 3*time.Second)
			w.expect("begun", states{"a": waits}, c.begin...)
			operation := "GET /operations/op1"
			if !c.put {
				operation = "GET /operations/op2" // The thing has the number 1.
			}
			w.passIn("a", 3*time.Second)
			w.expect("an event came before the time", states{"a": waits})
			w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
			w.passIn("a", 5*time.Second)
			w.expect("it runs", states{"a": waits}, operation)
			w.restart()
			w.passIn("a", 5*time.Second)
			w.expect("another process goes on", states{"a": waits}, operation)
			w.later(5*time.Second, "a")
			w.expect("it has ended", states{"a": c.id}, append([]string{operation}, c.end...)...)
		})
	}
}

// TestOperationFails: the condition has the reason of a failed operation, and Create is not repeated
// before the spec changes. An operation that the cloud no longer knows ([Missing]) is begun again.
func TestOperationFails(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow, c.refuse = 1, "no" })
	w.create("a")
	w.pass("a")
	w.later(3*time.Second, "a")
	w.pass("a")
	const refused = "none invalid configuration creating resource: the cloud refused"
	w.expect("it has failed", states{"a": refused},
		"GET /things/blue-a", "PUT /things/blue-a", "GET /operations/op1", "GET /things/blue-a")
	w.create("b")
	w.pass("b")
	w.cloud.change(func(c *toyCloud) { clear(c.running) })
	w.later(3*time.Second, "b")
	w.expect("it is forgotten", states{"b": "none Waiting for resource to be created"},
		"GET /things/blue-b", "PUT /things/blue-b", "GET /operations/op2", "GET /things/blue-b", "PUT /things/blue-b")
}

// TestUpdateTakesLong: the object waits for the operation of an Update, and reads the resource again at
// the end. The condition has the reason of a failed operation. Another process calls Update again.
func TestUpdateTakesLong(t *testing.T) {
	w := newToyWorld(t, true)
	colour := "red"
	differs := func(_ Input[netKind], id string) (fields []string) {
		w.cloud.change(func(c *toyCloud) {
			if c.things[id].Colour != colour {
				fields = []string{colour}
			}
		})
		return fields
	}
	w.r.kind.Differs = differs
	w.create("a")
	w.pass("a")
	w.expect("painted at once", states{"a": "blue-a"}, "GET /things/blue-a", "PUT /things/blue-a", "PATCH /things/blue-a")
	const waits = "blue-a Waiting for resource to be updated"
	colour = "green"
	w.cloud.change(func(c *toyCloud) { c.slow = 2 })
	w.edit("a")
	w.passIn("a", 3*time.Second)
	w.expect("begun", states{"a": waits}, "GET /things/blue-a", "PATCH /things/blue-a")
	w.passIn("a", 3*time.Second)
	w.expect("an event came before the time", states{"a": waits}, "GET /things/blue-a")
	w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
	w.passIn("a", 5*time.Second)
	w.expect("it runs", states{"a": waits}, "GET /things/blue-a", "GET /operations/op1")
	w.later(5*time.Second, "a")
	w.expect("it has ended", states{"a": "blue-a"}, "GET /things/blue-a", "GET /operations/op1", "GET /things/blue-a")
	colour = "blue"
	w.edit("a")
	w.passIn("a", 3*time.Second)
	w.restart()
	w.r.kind.Differs = differs
	w.passIn("a", 3*time.Second)
	w.expect("another process asks again", states{"a": waits},
		"GET /things/blue-a", "PATCH /things/blue-a", "GET /things/blue-a", "PATCH /things/blue-a")
	w.cloud.change(func(c *toyCloud) { c.refuse = "no" })
	w.later(3*time.Second, "a")
	w.later(5*time.Second, "a")
	w.expect("it has failed", states{"a": "blue-a the cloud refused"},
		"GET /things/blue-a", "GET /operations/op3", "GET /things/blue-a", "GET /operations/op3")
}

// TestDeletionTakesLong: a deleted object waits until Get answers with class [Missing].
func TestDeletionTakesLong(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	w.cloud.change(func(c *toyCloud) { c.slow, c.calls = 1, nil })
	w.delete("a")
	w.passIn("a", 3*time.Second)
	const waits = "blue-a Waiting for resource to be deleted"
	w.expect("begun", states{"a": waits}, "DELETE /things/blue-a")
	w.passIn("a", 3*time.Second)
	w.expect("an event came before the time", states{"a": waits})
	w.later(3*time.Second, "a")
	w.expect("it runs", states{"a": waits}, "GET /things/blue-a")
	w.cloud.change((*toyCloud).finish)
	w.pass("a")
	w.expect("it is gone", states{"a": "gone"}, "GET /things/blue-a")
	w.forgotten()
}

// unwritable is a client whose Patch fails once.
type unwritable struct {
	client.Client

	fails bool
}

func (u *unwritable) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption,
) error {
	if u.fails {
		u.fails = false
		return errors.New("the API server does not answer")
	}
	return u.Client.Patch(ctx, obj, patch, options...)
}

// TestOperationUnwritten: an operation whose record was not written continues (memory.began), and Create
// is not called a second time.
func TestOperationUnwritten(t *testing.T) {
	w := newToyWorld(t, false)
	live := &unwritable{Client: w.c}
	w.r.engine.Live = live
	w.cloud.change(func(c *toyCloud) { c.slow, c.then = 1, func() { live.fails = true } })
	w.create("a")
	w.pass("a")
	w.expect("begun, and not recorded",
		states{"a": "none write the finalizer: the API server does not answer"}, "GET /things?name=a", "POST /things")
	w.pass("a")
	w.expect("gone on with", states{"a": "t1"}, "GET /operations/op2", "GET /things?name=a")
}

// TestOperationTooLong: an operation with a name longer than maxOperation counts as an attempt without an
// answer: Create is not repeated at once.
func TestOperationTooLong(t *testing.T) {
	w := newToyWorld(t, false)
	w.cloud.change(func(c *toyCloud) { c.slow, c.prefix = 1, strings.Repeat("x", maxOperation) })
	w.create("a")
	w.pass("a", "a")
	w.expect("it waits", states{"a": "none Waiting for what was asked of the toy cloud before: its answer was lost"},
		"GET /things?name=a", "POST /things", "GET /things?name=a")
	w.cloud.change((*toyCloud).finish)
	w.pass("a")
	w.expect("found", states{"a": "t1"}, "GET /things?name=a")
}

// TestOperationListed: after an operation that has succeeded, a list without the resource may be late.
// Create is repeated only if the list still lacks the resource after carriedOut.
func TestOperationListed(t *testing.T) {
	w := newToyWorld(t, false)
	w.cloud.change(func(c *toyCloud) { c.slow, c.hides = 1, true })
	w.create("a")
	w.pass("a")
	w.later(3*time.Second, "a")
	w.pass("a")
	const late = "none Waiting for what was asked of the toy cloud before: its answer was lost"
	w.expect("the list is late", states{"a": late}, "GET /things?name=a", "POST /things",
		"GET /operations/op2", "GET /things?name=a", "GET /operations/op2", "GET /things?name=a")
	w.clock.SetTime(w.clock.Now().Add(carriedOut))
	w.pass("a")
	w.expect("the resource does not come", states{"a": "none Waiting for resource to be created"},
		"GET /operations/op2", "GET /things?name=a", "POST /things")
	w.cloud.change(func(c *toyCloud) { c.hides = false })
	w.later(3*time.Second, "a")
	w.expect("found", states{"a": "none found more than one matching resource during adoption: " +
		"name the right one in spec.adopt, or delete what is not needed"}, "GET /operations/op4", "GET /things?name=a")
}

// TestAttempt is the truth table of attempt.decide.
func TestAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		facts attempt
		want  attemptEnd
	}{
		"no attempt":          {attempt{}, createdNothing},
		"refused":             {attempt{intended: true, refused: true}, createdNothing},
		"operation runs":      {attempt{intended: true, running: true}, notEnded},
		"not searched":        {attempt{intended: true}, toSearch},
		"not searched, moved": {attempt{intended: true, elsewhere: true}, toSearch},
		"one":                 {attempt{intended: true, searched: true, orphans: 1}, createdOne},
		"one, moved":          {attempt{intended: true, searched: true, orphans: 1, elsewhere: true}, createdOne},
		"one, no answer":      {attempt{intended: true, searched: true, orphans: 1, unanswered: true}, createdOne},
		"two":                 {attempt{intended: true, searched: true, orphans: 2}, createdSeveral},
		"two, moved":          {attempt{intended: true, searched: true, orphans: 2, elsewhere: true}, createdSeveral},
		"none, moved":         {attempt{intended: true, searched: true, elsewhere: true}, triedElsewhere},
		"none, moved, no answer": {
			attempt{intended: true, searched: true, elsewhere: true, unanswered: true}, triedElsewhere,
		},
		"none, no answer": {attempt{intended: true, searched: true, unanswered: true}, notEnded},
		"none":            {attempt{intended: true, searched: true}, createdNothing},
	} {
		if got := c.facts.decide(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestUnderwayEnds: awaitAnswer ends when memory.until has passed, and the last look is at memory.until. A
// restart continues the wait if the intent has intent.Tried.
func TestUnderwayEnds(t *testing.T) {
	for _, c := range []struct {
		reason string
		tried  time.Duration // since then; 0 means that the intent does not tell
		want   time.Duration
	}{
		{"an earlier release does not tell", 0, unknownEnd},
		{"a moment ago", time.Millisecond, unknownEnd - time.Millisecond},
		{"another process has waited for most of it", 8 * time.Second, 2 * time.Second},
		{"it is over", time.Minute, 0},
		{"another machine's clock is ahead", -time.Minute, unknownEnd},
	} {
		r, clock := newReconciler()
		p := newPass()
		p.Object.UID = "u"
		began, looks := clock.Now(), 0
		i := intent{UID: "u", Time: began.Add(-time.Hour)}
		if c.tried != 0 {
			i.Tried = began.Add(-c.tried)
		}
		text, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		p.Object.Annotations = map[string]string{r.annotation(): string(text)}
		for r.isUnanswered(p) {
			if looks++; looks > 10 {
				t.Fatalf("%s: it waits after %d looks in %s", c.reason, looks, clock.Now().Sub(began))
			}
			clock.SetTime(clock.Now().Add(resultOf(t, r.awaitAnswer(p)).RequeueAfter))
		}
		if took := clock.Now().Sub(began); took != c.want {
			t.Errorf("%s: the wait took %s, want %s", c.reason, took, c.want)
		}
	}
}

// TestKilledAfterAttempts: a process is killed after the last of several attempts, and the cloud carries out
// this attempt when the next process runs. The next process waits unknownEnd from the last attempt, not from the
// first attempt.
func TestKilledAfterAttempts(t *testing.T) {
	w := newToyWorld(t, false)
	began := w.clock.Now()
	w.create("a")
	w.cloud.change(func(c *toyCloud) { c.fails = http.MethodPost })
	w.pass("a")
	w.expect("the first attempt", states{"a": "none the cloud failed"}, "GET /things?name=a", "POST /things")
	w.cloud.change(func(c *toyCloud) { c.fails, c.slow, c.lose = "", 1, http.MethodPost })
	w.later(2*unknownEnd, "a")
	w.expect("the last attempt", states{"a": "none no answer"}, "GET /things?name=a", "POST /things")
	w.restart()
	w.clock.SetTime(began.Add(2*unknownEnd + time.Second))
	w.pass("a")
	const waits = "none Waiting for what was asked of the toy cloud before: its answer was lost"
	w.expect("another process waits", states{"a": waits}, "GET /things?name=a")
	w.cloud.change((*toyCloud).finish)
	w.later(unknownEnd/2, "a")
	w.expect("the resource is found", states{"a": "t1"}, "GET /things?name=a")
}
