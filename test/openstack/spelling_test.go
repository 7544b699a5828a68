package openstack_test

import (
	"testing"
)

// respelled is a resource whose spec has addresses in another spelling or order than Neutron,
// or with the same meaning as the existing ones.
type respelled struct {
	kind, resource string
	needs          []string
	// changes are the methods and collections of requests that must not be sent, since nothing
	// differs.
	changes map[string]string
}

var spellings = []respelled{
	{
		kind: "Subnet", needs: []string{managed("Network", "net", "{}")},
		resource: `{networkRef: net, ipVersion: 6, cidr: "FD00:0:0:3::/64", gateway: {type: IP, ip: "FD00:0:0:3::A"},
  allocationPools: [{start: "FD00:0:0:3::B", end: "fd00:0:0:3:0:0:0:C"}], dnsNameservers: ["FD00:0::53"],
  hostRoutes: [{destination: "FD00:0:0:4::/64", nextHop: "FD00:0:0:3::F"}]}`,
		changes: map[string]string{"PUT": "subnets"},
	},
	{
		kind: "Port", needs: []string{managed("Network", "net", "{}")},
		resource: `{networkRef: net, macAddress: "FA:16:3E:00:00:FF", allowedAddressPairs: [
  {ip: 10.0.0.9}, {ip: 10.0.0.9, mac: "FA:16:3E:00:00:0A"}, {ip: "FD00:0::9"}]}`,
		changes: map[string]string{"PUT": "ports"},
	},
	{
		kind: "SecurityGroup",
		resource: `{rules: [{direction: egress, ethertype: IPv4, remoteIPPrefix: 0.0.0.0/0},
  {direction: egress, ethertype: IPv6, remoteIPPrefix: "::/0", description: out},
  {ethertype: IPv6, remoteIPPrefix: "FD00:0::/8"}, {ethertype: IPv4, remoteIPPrefix: 10.1.2.3/8},
  {ethertype: IPv4, protocol: tcp, portRange: {min: 1, max: 65535}}, {ethertype: IPv6, protocol: icmp}]}`,
		changes: map[string]string{"POST": "security-group-rules", "DELETE": "security-group-rules"},
	},
}

// compared has the resource be made and compared, and nothing be corrected.
func (r *respelled) compared(t *testing.T) {
	w := newWorld(t)
	w.apply(append(r.needs, managed(r.kind, "it", r.resource))...)
	w.available(r.kind, "it")
	w.cloud.ResetCalls()
	w.edit(r.kind, "it", `{"spec":{"resource":{"tags":["t"]}}}`) // Causes a comparison.
	w.available(r.kind, "it")
	w.reports(r.kind, "it", map[string]any{"tags": []any{"t"}})
	for method, collection := range r.changes {
		if n := w.requests(method, collection); n > 0 {
			t.Errorf("%d times %s %s, with nothing to correct", n, method, collection)
		}
	}
}
