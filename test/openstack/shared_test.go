package openstack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// sharedTests have two RouterInterfaces of one Router and one Subnet: both have the same
// connection, which is deleted with the last RouterInterface.
var sharedTests = map[string]func(*world){
	"RouterInterface beside that of a Subnet":            testBesideComposed,
	"RouterInterfaces that are deleted at once":          testBothDeleted,
	"RouterInterface created while another is deleted":   testReplacedInterface,
	"RouterInterfaces of two namespaces":                 testNeighboursInterface,
	"RouterInterface of what a person has connected":     testStrangersConnection,
	"RouterInterface that adopts by id":                  testAdoptedByID,
	"RouterInterfaces whose connection a person removes": testSharedRemoved,
}

// interfaceOf is the manifest of a RouterInterface of a name, between router and subnet.
func interfaceOf(name, subnet, more string) string {
	return strings.NewReplacer("{name: it}", "{name: "+name+"}", "subnetRef: sub", "subnetRef: "+subnet).
		Replace(between(more))
}

// shares waits until RouterInterfaces are available with one connection, and returns its ID.
func (w *world) shares(names ...string) string {
	w.t.Helper()
	w.available("RouterInterface", names...)
	id := w.id("RouterInterface", names[0])
	for _, name := range names {
		if other := w.id("RouterInterface", name); other != id {
			w.t.Fatalf("%s has %s, %s has %s", names[0], id, name, other)
		}
	}
	if !w.there("network/ports", id) {
		w.t.Fatalf("%s is not in the cloud", id)
	}
	return id
}

// connection asks the cloud to connect the router with a subnet, or to end that, as a person
// would, and returns the id of the port.
func (w *world) connection(action, subnet string) string {
	w.t.Helper()
	neutron := w.admin()
	address := neutron.ServiceURL("routers", w.id("Router", "router"), action)
	body, answer := map[string]any{"subnet_id": w.id("Subnet", subnet)}, map[string]any{}
	if err := kit.Call(w.t.Context(), neutron, http.MethodPut, address, body, &answer); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(answer["port_id"])
}

// testBesideComposed (F4): a RouterInterface beside that of a Subnet with a routerRef. Both
// are created at once, and either may be deleted first.
func testBesideComposed(w *world) {
	w.t.Helper()
	w.apply(interfaceOf("it", "routed", ""), managed("Router", "router", "{}"), net, routed)
	id := w.shares("it", "routed-subnet")
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if again := w.shares("routed-subnet"); again != id {
		w.t.Errorf("the connection was made again: %s, was %s", again, id)
	}
	w.apply(interfaceOf("it", "routed", ""))
	if again := w.shares("it", "routed-subnet"); again != id {
		w.t.Errorf("the connection was made again: %s, was %s", again, id)
	}
	w.delete("Subnet", "routed")
	w.gone("RouterInterface", "routed-subnet")
	w.says("Subnet", "routed",
		"Waiting for RouterInterface/it to be deleted: it holds finalizer openstack.k-orc.cloud/routerinterface")
	if !w.there("network/ports", id) {
		w.t.Error("the connection is deleted although an object has it")
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	w.gone("Subnet", "routed")
	if w.there("network/ports", id) {
		w.t.Error("the connection is left in the cloud")
	}
}

// testBothDeleted (F4): two RouterInterfaces are deleted at once, and one of them deletes the
// connection.
func testBothDeleted(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ""), interfaceOf("other", "sub", ""))
	id := w.shares("it", "other")
	w.delete("RouterInterface", "it")
	w.delete("RouterInterface", "other")
	w.gone("RouterInterface", "it", "other")
	if w.there("network/ports", id) {
		w.t.Error("the connection is left in the cloud")
	}
}

// testReplacedInterface (F4): a RouterInterface is created while the only other RouterInterface
// is deleted. Whether the connection is kept or created again, there is one.
func testReplacedInterface(w *world) {
	w.t.Helper()
	w.apply(connected...)
	names := []string{"one", "two"}
	w.apply(interfaceOf(names[0], "sub", ""))
	w.shares(names[0])
	for i := range 6 {
		before, after := names[i%2], names[(i+1)%2]
		w.delete("RouterInterface", before)
		w.apply(interfaceOf(after, "sub", ""))
		w.gone("RouterInterface", before)
		w.shares(after)
	}
}

// testNeighboursInterface (F4): the Router and the Subnet of another namespace are imports. A
// RouterInterface there with the connection keeps the connection as well.
func testNeighboursInterface(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ""))
	w.available("RouterInterface", "it")
	n := w.neighbour()
	n.apply(imported("Router", "router", fmt.Sprintf("{id: %q}", w.id("Router", "router"))),
		imported("Subnet", "theirs", fmt.Sprintf("{id: %q}", w.id("Subnet", "sub"))), interfaceOf("theirs", "theirs", ""))
	n.available("RouterInterface", "theirs")
	id := w.shares("it")
	if theirs := n.id("RouterInterface", "theirs"); theirs != id {
		w.t.Errorf("there are two connections, %s and %s", id, theirs)
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if !w.there("network/ports", id) {
		w.t.Fatal("the connection is deleted although an object of another namespace has it")
	}
	w.delete("Subnet", "sub") // Neutron refuses that until the connection is deleted.
	w.fails("Subnet", "sub", "TransientError")
	n.delete("RouterInterface", "theirs")
	n.gone("RouterInterface", "theirs")
	if w.there("network/ports", id) {
		w.t.Error("the connection is left in the cloud")
	}
	w.gone("Subnet", "sub")
}

// testStrangersConnection (F4): a connection that a user created is refused and kept, until an
// object adopts it; then the refused objects have it too.
func testStrangersConnection(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.available("Router", "router")
	w.available("Subnet", "sub")
	id := w.connection("add_router_interface", "sub")
	w.apply(interfaceOf("it", "sub", ""), interfaceOf("other", "sub", ""))
	refused := want{
		"False", "InvalidConfiguration", "OpenStack resource " + id + " exists already, and no object had it created: " +
			"set spec.adopt to take it over, or delete it in OpenStack and create this object anew",
	}
	w.has("RouterInterface", "it", "Progressing", refused)
	w.has("RouterInterface", "other", "Progressing", refused)
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if !w.there("network/ports", id) {
		w.t.Fatal("what a person has connected was deleted")
	}
	w.apply(interfaceOf("it", "sub", ", adopt: {}"))
	if adopted := w.shares("it", "other"); adopted != id {
		w.t.Errorf("it has %s, want %s", adopted, id)
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	w.shares("other")
	w.delete("RouterInterface", "other")
	w.gone("RouterInterface", "other")
	if w.there("network/ports", id) {
		w.t.Error("what was adopted is left in the cloud")
	}
}

// testAdoptedByID (F4): spec.adopt.id names the port to adopt. A RouterInterface waits for a
// port that does not connect both, as with other kinds. A refused object adopts when spec.adopt
// is set.
func testAdoptedByID(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.apply(managed("Port", "port", "{networkRef: net}"))
	w.available("Router", "router")
	w.available("Subnet", "sub")
	w.available("Port", "port")
	id := w.connection("add_router_interface", "sub")
	w.apply(interfaceOf("it", "sub", ""))
	w.fails("RouterInterface", "it", "InvalidConfiguration")
	w.edit("RouterInterface", "it", fmt.Sprintf(`{"spec":{"adopt":{"id":%q}}}`, w.id("Port", "port")))
	w.says("RouterInterface", "it", "Waiting for OpenStack resource to be created externally")
	w.edit("RouterInterface", "it", fmt.Sprintf(`{"spec":{"adopt":{"id":%q}}}`, id))
	if adopted := w.shares("it"); adopted != id {
		w.t.Errorf("it has %s, want %s", adopted, id)
	}
}

// testSharedRemoved (F4): a connection that a user removed is created once again, for all its
// RouterInterfaces.
func testSharedRemoved(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ", resyncPeriod: 1s"), interfaceOf("other", "sub", ""))
	before := w.shares("it", "other")
	w.connection("remove_router_interface", "sub")
	w.becomes("RouterInterface", "it", before)
	w.becomes("RouterInterface", "other", before) // Its own period is ten minutes.
	w.shares("it", "other")
}

// TestSharedAfterRestart (F4): the users of a connection are known after a restart, during
// which one object is deleted, one is created, and one exists that another process has refused.
func TestSharedAfterRestart(t *testing.T) {
	first := operator.Exec(t, "--packs", "openstack")
	w := untidyWorld(t)
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ""))
	w.shares("it")
	first.Kill()
	w.delete("RouterInterface", "it")
	w.apply(interfaceOf("other", "sub", ""))
	second := operator.Exec(t, "--packs", "openstack")
	w.gone("RouterInterface", "it")
	id := w.shares("other") // Possibly another connection.
	w.apply(interfaceOf("third", "sub", ""))
	w.shares("other", "third")
	second.Kill()
	w.delete("RouterInterface", "other")
	operator.Exec(t, "--packs", "openstack")
	w.gone("RouterInterface", "other")
	if now := w.shares("third"); now != id {
		t.Errorf("the connection was made again: %s, was %s", now, id)
	}
	w.delete("RouterInterface", "third")
	w.gone("RouterInterface", "third")
	w.tidyUp()
	w.empty()
}

// TestInterfaceEnds (F4): a RouterInterface that is created while the connection is being
// deleted waits for the deletion, and creates another connection.
func TestInterfaceEnds(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ""))
	id := w.shares("it")
	const removal = "routers/remove_router_interface"
	w.cloud.AddFault(emulator.Fault{Method: http.MethodPut, Resource: removal, Delay: 20 * time.Second})
	w.delete("RouterInterface", "it")
	testenv.Eventually(t, func() error {
		if w.requests(http.MethodPut, removal) == 0 {
			return errors.New("the connection is not being deleted yet")
		}
		return nil
	})
	w.apply(interfaceOf("other", "sub", ""))
	w.says("RouterInterface", "other",
		"Waiting for OpenStack resource "+id+" to be deleted with the last object that had it")
	w.cloud.ClearFaults()
	w.gone("RouterInterface", "it")
	if now := w.shares("other"); now == id {
		t.Errorf("it has the connection that was deleted, %s", now)
	}
}

// TestDeletionThatFailsIsShared (F4): a RouterInterface can't be deleted because a floating IP
// needs the connection, and leaves the connection to an object that is created meanwhile.
func TestDeletionThatFailsIsShared(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(connected...)
	w.apply(interfaceOf("it", "sub", ""))
	id := w.shares("it")
	removal := emulator.Fault{Method: http.MethodPut, Resource: "routers/remove_router_interface", Times: -1, Status: 409}
	w.cloud.AddFault(removal)
	w.delete("RouterInterface", "it")
	w.fails("RouterInterface", "it", "TransientError")
	w.apply(interfaceOf("other", "sub", ""))
	w.gone("RouterInterface", "it")
	if now := w.shares("other"); now != id {
		t.Errorf("the connection was made again: %s, was %s", now, id)
	}
}

// hostile returns the clouds.yaml of a tenant's own cloud, whose answers have the ID of another
// tenant's resource.
func hostile(t *testing.T, own *emulator.Server, foreign string, swapped *atomic.Value) string {
	t.Helper()
	var address string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := swapped.Load().(string)
		path := strings.ReplaceAll(r.URL.RequestURI(), foreign, id)
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, own.URL()+path,
			strings.NewReader(strings.ReplaceAll(string(sent), foreign, id)))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = r.Header.Clone()
		request.Header.Del("Accept-Encoding")
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if id == "" && strings.HasSuffix(path, "/add_router_interface") {
			var connected struct {
				Port string `json:"port_id"`
			}
			if err := json.Unmarshal(body, &connected); err == nil {
				id = connected.Port
				swapped.Store(id)
			}
		}
		text := strings.ReplaceAll(string(body), own.URL(), address)
		if id != "" {
			text = strings.ReplaceAll(text, id, foreign)
		}
		maps.Copy(w.Header(), answer.Header)
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.StatusCode)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	address = server.URL
	return strings.ReplaceAll(own.CloudsYAML(), own.URL(), address)
}

// TestHostileClaims: a tenant's own cloud answers with the ID of another tenant's connection.
// This does not make the tenant's object a user of the connection: objects of the true cloud
// neither join a connection that a user created, nor leave their own connection behind.
func TestHostileClaims(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(connected...)
	w.available("Router", "router")
	w.available("Subnet", "sub")
	person := w.connection("add_router_interface", "sub")
	w.apply(interfaceOf("it", "sub", ""))
	w.fails("RouterInterface", "it", "InvalidConfiguration")

	own := operator.Cloud(t, emulator.Options{})
	var swapped atomic.Value
	theirs := worldOf(t, hostile(t, own, person, &swapped), own)
	t.Cleanup(theirs.tidyUp)
	theirs.apply(connected...)
	theirs.apply(interfaceOf("it", "sub", ""))
	theirs.available("RouterInterface", "it")
	if id := theirs.id("RouterInterface", "it"); id != person {
		t.Fatalf("the cloud of the tenant answers with %s, want %s", id, person)
	}
	w.edit("RouterInterface", "it", `{"metadata":{"labels":{"look":"again"}}}`)
	w.apply(interfaceOf("other", "sub", ""))
	w.fails("RouterInterface", "other", "InvalidConfiguration")
	w.fails("RouterInterface", "it", "InvalidConfiguration")
	w.delete("RouterInterface", "other")
	w.gone("RouterInterface", "other")

	// The object of the true cloud with the connection deletes it at its own deletion.
	w.edit("RouterInterface", "it", `{"spec":{"adopt":{}}}`)
	if id := w.shares("it"); id != person {
		t.Fatalf("it has %s, want %s", id, person)
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if w.there("network/ports", person) {
		t.Error("the connection is left in the cloud")
	}
}
