package azure_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
)

// Ids and the api-version of the tests.
const (
	subscription = "/subscriptions/00000000-0000-0000-0000-000000000001"
	group        = subscription + "/resourceGroups/rg"
	network      = group + "/providers/Microsoft.Network/virtualNetworks/net"
	subnet       = network + "/subnets/one"
	nic          = group + "/providers/Microsoft.Network/networkInterfaces/nic"
	account      = group + "/providers/Microsoft.Batch/batchAccounts/account"
	thing        = group + "/providers/Microsoft.Test/things/a"
	networks     = "Microsoft.Network/virtualNetworks"
	version      = "2020-03-01"
)

// world is an emulated cloud with a client.
type world struct {
	t      *testing.T
	cloud  *emulator.Server
	server *httptest.Server
	client *azure.Client
	minute atomic.Int64 // since the start; the emulator's time
	calls  []azure.Call
}

func newWorld(t *testing.T, change ...func(*emulator.Options)) *world {
	t.Helper()
	w := &world{t: t}
	types := emulator.Observed()
	flow := emulator.Flow{Style: emulator.StateOnly, State: "Creating", Takes: time.Second}
	types["microsoft.test/things"] = emulator.Type{Name: "Microsoft.Test/things", Create: flow, Update: flow, Delete: flow}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	options := emulator.Options{Types: types, Clock: func() time.Time {
		return start.Add(time.Duration(w.minute.Load()) * time.Minute)
	}}
	for _, one := range change {
		one(&options)
	}
	w.cloud = emulator.New(options)
	w.server = httptest.NewServer(w.cloud)
	t.Cleanup(w.server.Close)
	w.restart()
	return w
}

// restart is what another process begins with.
func (w *world) restart() {
	w.t.Helper()
	client, err := azure.NewClient(azure.Options{Endpoint: w.server.URL, Observe: func(call azure.Call) {
		call.Duration = 0
		w.calls = append(w.calls, call)
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	w.client = client
}

// settle lets all operations end.
func (w *world) settle() { w.minute.Add(1) }

func (w *world) id(text string) azure.ID {
	w.t.Helper()
	id, err := azure.ParseID(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) get(id string) (azure.Answer, error) {
	return w.client.Get(context.Background(), w.id(id), version)
}

func (w *world) put(id string, properties map[string]any) (azure.Answer, error) {
	return w.client.Put(context.Background(), w.id(id), version,
		map[string]any{"location": "westus2", "properties": properties}, azure.Condition{})
}

func (w *world) delete(id string) (azure.Answer, error) {
	return w.client.Delete(context.Background(), w.id(id), version)
}

// ready puts resources, and lets each be done.
func (w *world) ready(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		if _, err := w.put(id, nil); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
	}
}

// is checks the class and the code of an error.
func (w *world) is(what string, err error, class azure.Class, code string) azure.Failure {
	w.t.Helper()
	if err == nil {
		w.t.Fatalf("%s: no error", what)
	}
	f := azure.Classify(err)
	if f.Class != class || f.Code != code {
		w.t.Errorf("%s: %s %s, want %s %s (%v)", what, f.Class, f.Code, class, code, err)
	}
	return f
}

func state(body map[string]any) any {
	properties, _ := body["properties"].(map[string]any)
	return properties["provisioningState"]
}

// reference is a body that names a subnet.
func reference(id string) map[string]any { return map[string]any{"subnet": map[string]any{"id": id}} }

// course is one style of operations.
type course struct {
	owners []string
	id     string
	delete bool
	style  azure.Style
	after  time.Duration
	// body says that the last poll has the resource.
	body bool
}

func courses() map[string]course {
	return map[string]course{
		"Azure-AsyncOperation of a PUT": {[]string{group}, network, false, azure.AsyncOperation, 3 * time.Second, false},
		"Location of a PUT":             {[]string{group}, account, false, azure.Location, 15 * time.Second, true},
		"provisioningState of a PUT":    {[]string{group}, thing, false, azure.OfResource, 0, true},
		"Azure-AsyncOperation of a DELETE": {
			[]string{group, network}, network, true, azure.AsyncOperation, 10 * time.Second, false,
		},
		"Location of a DELETE":          {[]string{group}, group, true, azure.Location, 15 * time.Second, false},
		"provisioningState of a DELETE": {[]string{group, thing}, thing, true, azure.OfResource, 0, false},
	}
}

// begin sends the request of a course, and returns the operation's token.
func (c course) begin(w *world, most int) string {
	w.t.Helper()
	w.ready(c.owners...)
	send := func() (azure.Answer, error) { return w.put(c.id, nil) }
	if c.delete {
		send = func() (azure.Answer, error) { return w.delete(c.id) }
	}
	begun, err := send()
	if err != nil || begun.Operation == nil {
		w.t.Fatalf("no operation: %v, %v", begun, err)
	}
	if begun.Operation.Style != c.style || begun.After != c.after {
		w.t.Errorf("style %s after %s, want %s after %s", begun.Operation.Style, begun.After, c.style, c.after)
	}
	token, err := begun.Operation.Token(most)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// poll polls by a token, and returns the next token.
func (w *world) poll(token string) (azure.Answer, string, error) {
	w.t.Helper()
	op, err := azure.ParseOperation(token)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := w.client.Poll(context.Background(), op)
	if err == nil && answer.Operation != nil {
		if token, err = answer.Operation.Token(4096); err != nil {
			w.t.Fatal(err)
		}
	}
	return answer, token, err
}

// TestOperationsSurviveARestart begins an operation of each style, ends the process, and goes on with the token: while
// the operation runs and after its end. The second round has tokens so short that they lose the address.
func TestOperationsSurviveARestart(t *testing.T) {
	for name, c := range courses() {
		for _, most := range []int{4096, 250} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, most), func(t *testing.T) {
				w := newWorld(t)
				token := c.begin(w, most)
				for range 2 {
					w.restart()
					answer, next, err := w.poll(token)
					if err != nil || answer.Operation == nil {
						t.Fatalf("while the operation runs: %v, %v", answer, err)
					}
					token = next
				}
				w.settle()
				w.restart()
				answer, _, err := w.poll(token)
				if err != nil || answer.Operation != nil {
					t.Fatalf("at the end: %v, %v", answer, err)
				}
				short := strings.Contains(token, `"resource"`)
				if (answer.Body != nil) != (c.body || short && !c.delete) {
					t.Errorf("at the end the body is %v", answer.Body)
				}
				got, err := w.get(c.id)
				if c.delete != azure.IsMissing(errOrSelf(err)) {
					t.Errorf("then: %v, %v", got, err)
				}
				if !c.delete && state(got.Body) != "Succeeded" {
					t.Errorf("then the state is %v", state(got.Body))
				}
			})
		}
	}
}

// errOrSelf returns an error that is not nil.
func errOrSelf(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// TestFailedOperations lets an operation of each style fail.
func TestFailedOperations(t *testing.T) {
	for name, c := range courses() {
		for _, most := range []int{4096, 250} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, most), func(t *testing.T) {
				w := newWorld(t)
				w.ready(c.owners...)
				method := http.MethodPut
				if c.delete {
					method = http.MethodDelete
				}
				w.cloud.AddFault(emulator.Fault{Method: method, Fails: true, Code: "AllocationFailed"})
				token := course{nil, c.id, c.delete, c.style, c.after, c.body}.begin(w, most)
				w.settle()
				_, _, err := w.poll(token)
				class, code := azure.RetrySlowly, "AllocationFailed"
				switch short := strings.Contains(token, `"resource"`); {
				case short && c.id == group: // A group is as before.
					class, code = azure.RetrySoon, "NotDeleted"
				case short: // The resource tells no code.
					code = "Failed"
				}
				if f := w.is("the end", err, class, code); !f.Ended || f.Outage {
					t.Errorf("the failure is %+v", f)
				}
			})
		}
	}
}

func TestEverythingIsGoneAfterTheGroup(t *testing.T) {
	w := newWorld(t)
	w.ready(group, network, subnet)
	answer, err := w.put(nic, reference(subnet))
	if err != nil {
		t.Fatal(err)
	}
	w.settle()
	if _, err := w.delete(group); err != nil {
		t.Fatal(err)
	}
	_, err = w.put(nic, reference(subnet))
	w.is("a PUT while the group is deleted", err, azure.AwaitReference, "ResourceGroupBeingDeleted")
	w.settle()
	_, err = w.get(nic)
	w.is("GET", err, azure.Missing, "ResourceGroupNotFound")
	_, err = w.delete(subnet)
	w.is("DELETE", err, azure.Missing, "ResourceGroupNotFound")
	_, err = w.put(nic, nil)
	w.is("PUT", err, azure.AwaitReference, "ResourceGroupNotFound")
	w.ready(group)
	_, err = w.put(subnet, nil)
	w.is("PUT of a child", err, azure.AwaitReference, "ParentResourceNotFound")
	if answer, err = w.delete(nic); err != nil || answer.Operation != nil {
		t.Errorf("DELETE in a new group: %v, %v", answer, err)
	}
}

// TestForgottenOperations polls an operation at a cloud that does not know it.
func TestForgottenOperations(t *testing.T) {
	for name, c := range courses() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			token := c.begin(w, 4096)
			other := newWorld(t)
			_, _, err := other.poll(strings.ReplaceAll(token, w.server.URL, other.server.URL))
			if c.style == azure.OfResource && c.delete {
				if err != nil {
					t.Errorf("a resource that is missing is deleted: %v", err)
				}
				return
			}
			if f := azure.Classify(errOrSelf(err)); f.Class != azure.Missing || f.Ended {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestThrottling(t *testing.T) {
	w := newWorld(t)
	w.ready(group, network)
	answer, err := w.put(subnet, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.put(nic, reference(subnet))
	f := w.is("a reference in the making", err, azure.AwaitReference, "ReferencedResourceNotProvisioned")
	if f.After != 0 || f.Outage {
		t.Errorf("%+v", f)
	}
	table := group + "/providers/Microsoft.Network/routeTables/t"
	w.ready(table)
	if _, err = w.put(table+"/routes/a", nil); err != nil {
		t.Fatal(err)
	}
	_, err = w.put(table+"/routes/b", nil)
	f = w.is("two routes", err, azure.RetrySoon, "RetryableErrorDueToAnotherOperation")
	if f.After != 11*time.Second || f.Outage {
		t.Errorf("%+v", f)
	}
	w.cloud.AddFault(emulator.Fault{Type: "operation", Status: 429, Code: "TooManyRequests", RetryAfter: 30})
	w.cloud.AddFault(emulator.Fault{Type: "operation", Status: 503})
	for _, after := range []time.Duration{30 * time.Second, 0} {
		_, err = w.client.Poll(context.Background(), *answer.Operation)
		if f := azure.Classify(errOrSelf(err)); f.Class != azure.RetrySoon || f.After != after || !f.Outage || f.Ended {
			t.Errorf("a throttled poll: %+v", f)
		}
	}
	w.settle()
	if answer, err = w.client.Poll(context.Background(), *answer.Operation); err != nil || answer.Operation != nil {
		t.Errorf("the operation goes on all the same: %v, %v", answer, err)
	}
}

func TestResourcesInUse(t *testing.T) {
	w := newWorld(t)
	w.ready(group, network, subnet)
	if _, err := w.put(nic, reference(subnet)); err != nil {
		t.Fatal(err)
	}
	w.settle()
	_, err := w.delete(subnet)
	w.is("a subnet", err, azure.InUse, "InUseSubnetCannotBeDeleted")
	_, err = w.delete(network)
	w.is("its network", err, azure.InUse, "InUseSubnetCannotBeDeleted")
}

func TestConditions(t *testing.T) {
	w := newWorld(t)
	w.ready(group, network)
	first, err := w.get(network)
	if err != nil || first.ETag == "" {
		t.Fatalf("%v, %v", first, err)
	}
	put := func(only azure.Condition) (azure.Answer, error) {
		return w.client.Put(context.Background(), w.id(network), version, map[string]any{"location": "westus2"}, only)
	}
	if answer, err := put(azure.Condition{ETag: first.ETag}); err != nil || answer.Operation != nil || answer.Created {
		t.Errorf("the state as read: %v, %v", answer, err)
	}
	_, err = put(azure.Condition{ETag: first.ETag})
	w.is("another state", err, azure.RetrySoon, "PreconditionFailed")
	_, err = put(azure.Condition{Absent: true})
	w.is("an existing resource", err, azure.RetrySoon, "PreconditionFailed")
}

// TestLostAnswers drops the connection after the request was carried out: the same PUT again does no harm.
func TestLostAnswers(t *testing.T) {
	w := newWorld(t)
	w.ready(group)
	w.cloud.AddFault(emulator.Fault{Method: http.MethodPut, Reset: emulator.AfterExecution})
	_, err := w.put(network, nil)
	if f := azure.Classify(errOrSelf(err)); f.Class != azure.RetrySoon || !f.Outage || f.Status != 0 {
		t.Errorf("%+v", f)
	}
	w.settle()
	if answer, err := w.put(network, nil); err != nil || answer.Created {
		t.Errorf("again: %v, %v", answer, err)
	}
}

func TestLists(t *testing.T) {
	w := newWorld(t, func(o *emulator.Options) { o.PageSize = 2 })
	w.ready(group, network, network+"2", network+"3", subnet)
	for _, row := range []struct {
		in, typ string
		want    int
	}{
		{group, networks, 3},
		{subscription, networks, 3},
		{network, "Microsoft.Network/virtualNetworks/subnets", 1},
		{subscription, "Microsoft.Resources/resourceGroups", 1},
		{network + "2", "Microsoft.Network/virtualNetworks/subnets", 0},
	} {
		items, err := w.client.List(context.Background(), w.id(row.in), row.typ, version)
		if err != nil || len(items) != row.want {
			t.Errorf("%s in %s: %d, %v", row.typ, row.in, len(items), err)
		}
	}
	_, err := w.client.List(context.Background(), w.id(subscription+"/resourceGroups/no"), networks, version)
	w.is("in a missing group", err, azure.Missing, "ResourceGroupNotFound")
}

func TestCallsAreObserved(t *testing.T) {
	w := newWorld(t)
	w.ready(group)
	answer, err := w.put(network, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.client.Poll(context.Background(), *answer.Operation); err != nil {
		t.Fatal(err)
	}
	_, _ = w.get(nic) // The call is what counts.
	if diff := cmp.Diff([]azure.Call{
		{Method: "PUT", Type: "Microsoft.Resources/resourceGroups", Status: 201},
		{Method: "PUT", Type: "Microsoft.Network/virtualNetworks", Status: 201},
		{Method: "GET", Type: "operation", Status: 200},
		{Method: "GET", Type: "Microsoft.Network/networkInterfaces", Status: 404},
	}, w.calls); diff != "" {
		t.Errorf("calls (-want, +got): %s", diff)
	}
}

// TestNamesAreEscaped puts a resource whose name has characters that an address has not.
func TestNamesAreEscaped(t *testing.T) {
	w := newWorld(t)
	w.ready(group)
	for _, name := range []string{"a b", "api;rev=1", "ü", "a+b", "MyApp:Key$label", "a@b,c"} {
		id := group + "/providers/Microsoft.Authorization/things/" + name
		if _, err := w.put(id, nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := w.get(id); err != nil || got.Body["name"] != name {
			t.Errorf("%s: %v, %v", name, got.Body["name"], err)
		}
	}
}
