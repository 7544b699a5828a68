package openstack_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// routerInterfaceTests are the scenarios of a kind that has neither a resource in its
// spec nor credentials, nothing to edit, and no import.
var routerInterfaceTests = map[string]func(*testing.T){
	"RouterInterface create-minimal":    testInterfaceMinimal,
	"RouterInterface dependency":        testInterfaceDependency,
	"RouterInterface external-deletion": testInterfaceDeletedOutside,
}

// connected are what an interface connects.
var connected = []string{managed("Router", "router", "{}"), net, sub}

// between is the manifest of an interface between these.
func between(more string) string {
	return fmt.Sprintf(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: RouterInterface
metadata: {name: it}
spec: {type: Subnet, routerRef: router, subnetRef: sub%s}
---`, more)
}

// interfaces returns the ids of the ports by which routers are connected.
func (w *world) interfaces() []string { return w.inCloud("network/ports", "") }

func testInterfaceMinimal(t *testing.T) {
	w := newWorld(t)
	w.apply(connected...)
	w.apply(between(""))
	w.available("RouterInterface", "it")
	if ids := w.interfaces(); len(ids) != 1 || ids[0] != w.id("RouterInterface", "it") {
		t.Errorf("in the cloud: %v", ids)
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if ids := w.interfaces(); len(ids) > 0 {
		t.Errorf("left in the cloud: %v", ids)
	}
}

// testInterfaceDependency names all that is missing, is woken, and holds what it uses.
func testInterfaceDependency(t *testing.T) { interfaceTogether(newWorld(t)) }

func interfaceTogether(w *world) {
	w.t.Helper()
	w.apply(between(""))
	w.has("RouterInterface", "it", "Progressing", waitingFor("Router/router to be created", "Subnet/sub to be created"))
	w.apply(connected...)
	w.available("RouterInterface", "it")
	for kind, name := range map[string]string{"Router": "router", "Subnet": "sub"} {
		w.delete(kind, name)
		w.says(kind, name,
			"Waiting for RouterInterface/it to be deleted: it holds finalizer openstack.k-orc.cloud/routerinterface")
	}
	id := w.id("RouterInterface", "it")
	if !w.there("network/ports", id) {
		w.t.Error("it is not in the cloud while it holds both")
	}
	w.delete("RouterInterface", "it")
	w.gone("RouterInterface", "it")
	if w.there("network/ports", id) {
		w.t.Error("it is left in the cloud")
	}
	w.gone("Router", "router")
	w.gone("Subnet", "sub")
}

func testInterfaceDeletedOutside(t *testing.T) {
	w := newWorld(t)
	w.apply(connected...)
	w.apply(between(", resyncPeriod: 1s"))
	w.available("RouterInterface", "it")
	before := w.id("RouterInterface", "it")
	neutron := w.admin()
	address := neutron.ServiceURL("routers", w.id("Router", "router"), "remove_router_interface")
	if err := kit.Call(t.Context(), neutron, http.MethodPut, address, map[string]any{"port_id": before}, nil); err != nil {
		t.Fatal(err)
	}
	w.becomes("RouterInterface", "it", before)
	w.remade("RouterInterface", "it", "network/ports")
}
