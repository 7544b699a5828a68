package openstack_test

import "testing"

func testNetworkMinimal(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"))
	w.available("Network", "net")
	w.reports("Network", "net", map[string]any{"name": "net", "adminStateUp": true, "status": "ACTIVE"})
	w.held("Network", "net", "network")
	w.held("Secret", "cloud", "network")
	w.delete("Secret", "cloud") // Which is held back.
	w.delete("Network", "net")
	w.gone("Network", "net")
	w.gone("Secret", "cloud")
	w.empty()
}

func testNetworkFull(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Project", "p", "{}"), managed("Network", "net", `{name: other, description: text, adminStateUp: false,
  dnsDomain: example.com., mtu: 1400, portSecurityEnabled: false, external: true, shared: true,
  tags: [b, a], projectRef: p}`))
	w.available("Network", "net")
	w.reports("Network", "net", map[string]any{
		"name": "other", "description": "text", "adminStateUp": false, "dnsDomain": "example.com.", "mtu": int64(1400),
		"portSecurityEnabled": false, "external": true, "shared": true, "tags": []any{"a", "b"},
		"projectID": w.id("Project", "p"),
	})
}

func testSubnetWaits(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Subnet", "s", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.has("Subnet", "s", "Progressing", waitingFor("Network/net to be created"))
	w.apply(managed("Network", "net", "{}"))
	w.available("Subnet", "s")
	w.held("Network", "net", "network", "subnet")
	w.delete("Network", "net")
	w.has("Network", "net", "Progressing", want{"True", "Progressing",
		"Waiting for Subnet/s to be deleted: it holds finalizer openstack.k-orc.cloud/subnet"})
	w.delete("Subnet", "s")
	w.gone("Subnet", "s")
	w.gone("Network", "net")
	w.empty()
}
