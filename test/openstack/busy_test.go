package openstack_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/test/operator"
)

// busyTests are about resources that can't be deleted for a moment, because other resources use
// them. They run on real services too.
var busyTests = map[string]func(*world){
	"Subnet that is deleted with its ports":           testSubnetWithPorts,
	"Subnet of a port that no object stands for":      testSubnetOfStranger,
	"RouterInterface that is deleted with an address": testInterfaceWithAddress,
}

// attempts returns the largest number of attempts to delete a resource that is in use for a
// given time: one at the beginning, one at the end, and one every two seconds.
func attempts(since time.Time) int { return 2 + int(time.Since(since)/(2*time.Second)) }

// testSubnetWithPorts (F8): no relation tells that a port has an address of a subnet which
// Neutron chose. Its end has the subnet's deletion tried again all the same.
func testSubnetWithPorts(w *world) {
	w.t.Helper()
	ports := []string{"a", "b", "c"}
	w.apply(net, sub)
	w.available("Subnet", "sub")
	for _, name := range ports {
		w.apply(managed("Port", name, "{networkRef: net}"))
	}
	w.available("Port", ports...)
	if w.cloud != nil {
		w.cloud.AddFault(emulator.Fault{Method: http.MethodDelete, Resource: "ports", Times: -1, Delay: time.Second})
	}
	begin := time.Now()
	for _, name := range ports {
		w.delete("Port", name)
	}
	w.delete("Subnet", "sub")
	w.gone("Subnet", "sub")
	w.gone("Port", ports...)
	w.t.Logf("3 Ports and their Subnet are gone after %s", time.Since(begin).Round(10*time.Millisecond))
	if w.cloud != nil {
		if n := w.requests(http.MethodDelete, "subnets"); n > attempts(begin) {
			w.t.Errorf("%d attempts to delete the subnet, at most %d", n, attempts(begin))
		}
	}
}

// testSubnetOfStranger (F8): the operator waits for users of a subnet without an object, at
// first with a fixed pause.
func testSubnetOfStranger(w *world) {
	w.t.Helper()
	w.apply(net, sub)
	w.available("Subnet", "sub")
	port := w.post(w.admin(), "ports", fmt.Sprintf(`{"port":{"name":"theirs","network_id":%q,"fixed_ips":[{"subnet_id":%q}]}}`,
		w.id("Network", "net"), w.id("Subnet", "sub")))
	begin := time.Now()
	w.delete("Subnet", "sub")
	w.fails("Subnet", "sub", "TransientError")
	w.deleteOutside("network/ports", port)
	w.gone("Subnet", "sub")
	w.t.Logf("the Subnet is gone after %s", time.Since(begin).Round(10*time.Millisecond))
	if w.cloud != nil {
		if n := w.requests(http.MethodDelete, "subnets"); n > attempts(begin) {
			w.t.Errorf("%d attempts to delete the subnet, at most %d", n, attempts(begin))
		}
	}
}

// testInterfaceWithAddress (F8): Neutron keeps the connection that an address outside needs.
// Whichever is deleted first, both go.
func testInterfaceWithAddress(w *world) {
	w.t.Helper()
	w.apply(managed("Network", "outside", "{external: true}"), net, sub,
		managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"),
		managed("Router", "router", "{externalGateways: [{networkRef: outside}]}"),
		managed("Port", "port", "{networkRef: net, addresses: [{subnetRef: sub}]}"), between(""))
	w.available("RouterInterface", "it")
	w.available("Port", "port")
	w.apply(managed("FloatingIP", "fip", "{floatingNetworkRef: outside, portRef: port}"))
	w.available("FloatingIP", "fip")
	begin := time.Now()
	w.delete("RouterInterface", "it")
	w.fails("RouterInterface", "it", "TransientError")
	w.delete("FloatingIP", "fip")
	w.gone("FloatingIP", "fip")
	w.gone("RouterInterface", "it")
	w.t.Logf("the RouterInterface is gone after %s", time.Since(begin).Round(10*time.Millisecond))
}

// TestBusyIsNoFailure (F8): a deletion that waits for others is not counted as a failed
// reconciliation.
func TestBusyIsNoFailure(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	failed := w.counted("subnet", "errors_total")
	testSubnetOfStranger(w)
	if failed := w.counted("subnet", "errors_total") - failed; failed > 0 {
		t.Errorf("%g reconciliations are said to have failed", failed)
	}
}
