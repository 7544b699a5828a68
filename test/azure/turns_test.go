package azure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestRoutesAtOnce: routes of one table are created, changed and deleted at once. Azure carries out one request
// for a table after another, and refuses the others: the operator sends one after another, also after it was killed,
// and sends each once.
func TestRoutesAtOnce(t *testing.T) {
	w := newCloud(t, emulator.Options{RetryAfter: -1, BuildTime: 300 * time.Millisecond})
	p := w.process()
	w.apply(group("rg"), manifest("table", "ways", "rg", "location: westeurope"))
	w.ready("table/ways")
	w.resetCalls()
	const n = 4
	names := append(make([]string, 0, n+2), "rg", "ways")
	text, routes := make([]string, 0, n), make([]string, 0, n)
	for i := range n {
		name := fmt.Sprintf("way%d", i)
		names, routes = append(names, name), append(routes, "route/"+name)
		text = append(text, manifest("route", name, "ways", fmt.Sprintf("addressPrefix: 10.%d.0.0/16, nextHopType: None", i)))
	}
	w.apply(text...)
	w.says("route/way3", "Waiting for the change of ")
	p.Kill()
	w.process()
	w.ready(routes...)
	w.inCloud(names...)
	w.edit("route/way1", `{"spec":{"addressPrefix":"10.99.0.0/16"}}`)
	w.delete("route/way2", "route/way3")
	w.gone("route/way2", "route/way3")
	w.ready("route/way1")
	w.delete("rg/rg")
	w.gone("rg/rg")
	w.noneRefused()
	if puts, deletes := w.calls("PUT", "route"), w.calls("DELETE", "route"); puts != n+1 || deletes != 2 {
		t.Errorf("%d PUTs of routes, want %d; %d DELETEs, want 2", puts, n+1, deletes)
	}
}

// TestSubnetsAtOnce: subnets of one network are created, changed and deleted at once. Azure refuses a second change of
// a network's subnets: the operator sends one after another, and each once.
func TestSubnetsAtOnce(t *testing.T) {
	w := newCloud(t, emulator.Options{RetryAfter: -1, BuildTime: 100 * time.Millisecond})
	w.start()
	const n = 5
	manifests := append(make([]string, 0, 2+n), group("rg"), vnet("net", "rg"))
	names, subnets := append(make([]string, 0, 2+n), "rg", "net"), make([]string, 0, n)
	for i := range n {
		name := fmt.Sprintf("net%d", i)
		manifests = append(manifests, manifest("subnet", name, "net", fmt.Sprintf("addressPrefix: 10.0.%d.0/24", i)))
		names, subnets = append(names, name), append(subnets, "subnet/"+name)
	}
	w.apply(manifests...)
	w.ready(subnets...)
	w.inCloud(names...)
	for i, subnet := range subnets {
		w.edit(subnet, fmt.Sprintf(`{"spec":{"addressPrefix":"10.0.%d.0/25"}}`, i))
	}
	w.ready(subnets...)
	w.delete(subnets...)
	w.gone(subnets...)
	w.inCloud("rg", "net")
	w.noneRefused()
	if puts, deletes := w.calls("PUT", "subnet"), w.calls("DELETE", "subnet"); puts != 2*n || deletes != n {
		t.Errorf("%d PUTs and %d DELETEs of subnets, want %d and %d", puts, deletes, 2*n, n)
	}
}

// TestNetworkAtOnce: Azure changes a network, one of its subnets or one of its peerings at a time. Objects of all three
// kinds, which are created and changed at once, take turns, and each is sent once.
func TestNetworkAtOnce(t *testing.T) {
	w := newCloud(t, emulator.Options{RetryAfter: -1, BuildTime: 300 * time.Millisecond})
	w.start()
	const remote = "remoteVirtualNetwork: {kubernetes: {name: other}}"
	objects := []string{"vnet/net", "vnet/other", "subnet/front", "subnet/back", "peering/out"}
	w.apply(group("rg"), vnet("net", "rg"), vnet("other", "rg"), subnet("front", "net"),
		manifest("subnet", "back", "net", "addressPrefix: 10.0.2.0/24"), manifest("peering", "out", "net", remote))
	w.ready(objects...)
	w.edit("subnet/front", `{"spec":{"addressPrefix":"10.0.3.0/24"}}`)
	w.says("subnet/front", "False Updating")
	w.edit("peering/out", `{"spec":{"allowForwardedTraffic":true}}`)
	w.edit("vnet/net", `{"spec":{"tags":{"team":"blue"}}}`)
	w.says("vnet/net", "Waiting for the change of VirtualNetworksSubnet/front in ")
	w.ready(objects...)
	w.delete("subnet/back", "peering/out")
	w.gone("subnet/back", "peering/out")
	w.inCloud("rg", "net", "other", "front")
	w.noneRefused()
	for kind, want := range map[string]int{"vnet": 3, "subnet": 3, "peering": 2} {
		if puts := w.calls("PUT", kind); puts != want {
			t.Errorf("%d PUTs of %s, want %d", puts, kind, want)
		}
	}
}

// TestIndependentAtOnce: resources that Azure changes independently of others are created at once. Once Azure has
// accepted the deletion of a group, its objects are being deleted too.
func TestIndependentAtOnce(t *testing.T) {
	w, finish := newSlowCloud(t)
	w.start()
	w.apply(group("rg"))
	w.ready("rg/rg")
	for _, name := range []string{"account/one", "account/two", "table/routes"} {
		kind, name, _ := strings.Cut(name, "/")
		w.apply(manifest(kind, name, "rg", "location: westeurope"))
	}
	for _, name := range []string{"account/one", "account/two", "table/routes"} {
		w.says(name, "Creating")
	}
	finish()
	w.ready("account/one", "account/two", "table/routes")
	w.delete("rg/rg")
	testenv.Eventually(t, func() error {
		for _, name := range []string{"one", "two"} {
			if w.get("account", name).GetDeletionTimestamp() == nil {
				return fmt.Errorf("account %s is not being deleted", name)
			}
		}
		return nil
	})
	w.says("account/one", "False Deleting Waiting for ResourceGroup/rg to be deleted")
	finish()
	w.gone("rg/rg", "account/one", "account/two", "table/routes")
	w.inCloud()
	if n := w.calls("DELETE", "account") + w.calls("DELETE", "table"); n != 0 {
		t.Errorf("%d DELETEs of resources in the group, want 0", n)
	}
}
