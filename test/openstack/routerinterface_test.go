package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// routerInterfaceTests are the scenarios of a kind that has neither a resource in its
// spec nor credentials, nothing to edit, and no import.
var routerInterfaceTests = map[string]func(*testing.T){
	"RouterInterface of a Subnet":        testInterfaceMissed,
	"RouterInterface that is in the way": testInterfaceInTheWay,
}

// connected are the objects that a RouterInterface connects.
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

// routed is a Subnet that has an interface of its own made.
var routed = managed("Subnet", "routed", "{networkRef: net, ipVersion: 4, cidr: 10.7.0.0/24, routerRef: router}")

// testInterfaceMissed: a composed RouterInterface that a user deleted is created again.
func testInterfaceMissed(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Router", "router", "{}"), net, routed)
	w.available("Subnet", "routed")
	before := w.get("RouterInterface", "routed-subnet").GetUID()
	w.delete("RouterInterface", "routed-subnet")
	testenv.Eventually(t, func() error {
		child := object("RouterInterface")
		err := w.c.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "routed-subnet"}, child)
		if err == nil && child.GetUID() == before {
			return fmt.Errorf("it is the same still")
		}
		return err
	})
	w.available("RouterInterface", "routed-subnet")
}

// testInterfaceInTheWay: a Subnet names the object with the name of its RouterInterface, and
// creates the RouterInterface after the deletion of that object.
func testInterfaceInTheWay(t *testing.T) {
	w := newWorld(t)
	w.apply(connected...)
	w.apply(strings.ReplaceAll(between(""), "{name: it}", "{name: routed-subnet}"))
	w.available("RouterInterface", "routed-subnet")
	w.apply(routed)
	w.says("Subnet", "routed", "RouterInterface/routed-subnet exists and this Subnet does not own it: "+
		"delete it, or leave out spec.resource.routerRef")
	w.delete("RouterInterface", "routed-subnet")
	w.available("Subnet", "routed")
	w.available("RouterInterface", "routed-subnet")
}

func testInterfaceDeletedOutside(w *world) {
	w.t.Helper()
	w.apply(connected...)
	w.apply(between(", resyncPeriod: 1s"))
	w.available("RouterInterface", "it")
	before := w.id("RouterInterface", "it")
	neutron := w.admin()
	address := neutron.ServiceURL("routers", w.id("Router", "router"), "remove_router_interface")
	if err := kit.Call(w.t.Context(), neutron, http.MethodPut, address, map[string]any{"port_id": before}, nil); err != nil {
		w.t.Fatal(err)
	}
	w.becomes("RouterInterface", "it", before)
	if !w.there("network/ports", w.id("RouterInterface", "it")) {
		w.t.Error("what it says to have is not in the cloud")
	}
	w.available("RouterInterface", "it")
}
