package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// asked is a resource of which the cloud itself is asked whether it has been given what
// the spec says: of some fields the status tells nothing, or what it tells was not asked
// for. In texts, <Kind/name> stands for the id of what that object has made.
type asked struct {
	kind, what string
	needs      []string
	resource   string
	// in is where the cloud has it, and one the envelope of its answer, if any.
	in, one string
	// has is what the answer has to have, and shows what the status has.
	has, shows map[string]any
	// edits change the resource, each with what the answer has then.
	edits []edited
	// held are the objects that stay while the resource is there, and by what finalizer.
	held map[[2]string]string
}

type edited struct {
	patch string
	has   map[string]any
}

// list and attrs keep the tables short.
type (
	list  = []any
	attrs = map[string]any
)

// inside is a network with a subnet.
var inside = []string{
	managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"),
}

var askedFor = []asked{
	{
		kind: "Port", what: "full", in: "network/ports", one: "port",
		needs: append([]string{managed("SecurityGroup", "group", "{}"), managed("SecurityGroup", "other", "{}")}, inside...),
		resource: `{networkRef: net, addresses: [{subnetRef: sub, ip: 10.0.0.77}], securityGroupRefs: [group],
  allowedAddressPairs: [{ip: 10.0.0.9}, {ip: 10.1.0.0/16, mac: "fa:16:3e:00:00:02"}], hostID: {id: loopback},
  macAddress: "fa:16:3e:00:00:01", valueSpecs: [{key: device_id, value: thing}]}`,
		has: attrs{
			"fixed_ips": list{attrs{"subnet_id": "<Subnet/sub>", "ip_address": "10.0.0.77"}}, "security_groups": list{"<SecurityGroup/group>"},
			"allowed_address_pairs": list{
				attrs{"ip_address": "10.0.0.9", "mac_address": "fa:16:3e:00:00:01"},
				attrs{"ip_address": "10.1.0.0/16", "mac_address": "fa:16:3e:00:00:02"},
			},
			"binding:host_id": "loopback", "device_id": "thing", "binding:vnic_type": "normal",
		},
		shows: attrs{
			"fixedIPs":       list{attrs{"subnetID": "<Subnet/sub>", "ip": "10.0.0.77"}},
			"securityGroups": list{"<SecurityGroup/group>"}, "hostID": "loopback", "vnicType": "normal", "deviceID": "thing",
			"allowedAddressPairs": list{
				attrs{"ip": "10.0.0.9", "mac": "fa:16:3e:00:00:01"}, attrs{"ip": "10.1.0.0/16", "mac": "fa:16:3e:00:00:02"},
			},
		},
		edits: []edited{
			{
				`{"securityGroupRefs":["other"],"allowedAddressPairs":[{"ip":"10.0.0.8","mac":"fa:16:3e:00:00:03"}]}`,
				attrs{
					"security_groups":       list{"<SecurityGroup/other>"},
					"allowed_address_pairs": list{attrs{"ip_address": "10.0.0.8", "mac_address": "fa:16:3e:00:00:03"}},
				},
			},
			{
				`{"securityGroupRefs":null,"allowedAddressPairs":null}`,
				attrs{"security_groups": list{}, "allowed_address_pairs": list{}},
			},
		},
	},
	{ // Neutron by itself would give it an address, and the default group.
		kind: "Port", what: "without addresses and groups", in: "network/ports", one: "port", needs: inside,
		resource: "{networkRef: net}", has: attrs{"fixed_ips": list{}, "security_groups": list{}, "port_security_enabled": true},
		shows: attrs{"fixedIPs": nil, "securityGroups": nil},
	},
	{
		kind: "Port", what: "create-sriov", in: "network/ports", one: "port", needs: inside,
		resource: "{networkRef: net, vnicType: direct, portSecurity: Disabled, addresses: [{subnetRef: sub}]}",
		has:      attrs{"binding:vnic_type": "direct", "port_security_enabled": false},
		shows:    attrs{"vnicType": "direct", "portSecurityEnabled": false},
		edits:    []edited{{`{"vnicType":"macvtap"}`, attrs{"binding:vnic_type": "macvtap"}}},
	},
	{ // Whose addresses are more than the spec has, which is no reason to change them.
		kind: "Port", what: "where a router announces a prefix", in: "network/ports", one: "port",
		needs: append([]string{
			managed("Router", "router", "{}"),
			managed("Subnet", "six", `{networkRef: net, routerRef: router, ipVersion: 6, cidr: "fd00:8::/64",
  ipv6: {addressMode: slaac, raMode: slaac}}`),
		}, inside...),
		resource: `{networkRef: net, macAddress: "fa:16:3e:00:08:01", addresses: [{subnetRef: sub, ip: 10.0.0.77}]}`,
		has: attrs{"fixed_ips": list{
			attrs{"subnet_id": "<Subnet/sub>", "ip_address": "10.0.0.77"},
			attrs{"subnet_id": "<Subnet/six>", "ip_address": "fd00:8::f816:3eff:fe00:801"},
		}},
		shows: attrs{"fixedIPs": list{
			attrs{"subnetID": "<Subnet/sub>", "ip": "10.0.0.77"},
			attrs{"subnetID": "<Subnet/six>", "ip": "fd00:8::f816:3eff:fe00:801"},
		}},
		edits: []edited{{`{"description":"new"}`, attrs{
			"description": "new",
			"fixed_ips": list{
				attrs{"subnet_id": "<Subnet/sub>", "ip_address": "10.0.0.77"},
				attrs{"subnet_id": "<Subnet/six>", "ip_address": "fd00:8::f816:3eff:fe00:801"},
			},
		}}},
	},
	{
		kind: "Subnet", what: "create-full-v6", in: "network/subnets", one: "subnet",
		needs: []string{managed("Network", "net", "{}")},
		resource: `{networkRef: net, ipVersion: 6, cidr: "fd00:1::/64", ipv6: {addressMode: dhcpv6-stateful, raMode: dhcpv6-stateful},
  gateway: {type: IP, ip: "fd00:1::1"}, allocationPools: [{start: "fd00:1::10", end: "fd00:1::20"}],
  dnsNameservers: ["fd00:1::53"], hostRoutes: [{destination: "fd00:2::/64", nextHop: "fd00:1::2"}]}`,
		has: attrs{
			"ip_version": 6.0, "cidr": "fd00:1::/64", "ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful",
			"gateway_ip": "fd00:1::1", "allocation_pools": list{attrs{"start": "fd00:1::10", "end": "fd00:1::20"}},
			"dns_nameservers": list{"fd00:1::53"}, "host_routes": list{attrs{"destination": "fd00:2::/64", "nexthop": "fd00:1::2"}},
		},
		shows: attrs{
			"ipVersion": int64(6), "cidr": "fd00:1::/64", "ipv6AddressMode": "dhcpv6-stateful", "ipv6RAMode": "dhcpv6-stateful",
			"gatewayIP": "fd00:1::1", "networkID": "<Network/net>",
		},
		edits: []edited{{`{"gateway":{"type":"None","ip":null}}`, attrs{"gateway_ip": nil}}},
	},
	{
		kind: "Subnet", what: "create-minimal-v6", in: "network/subnets", one: "subnet",
		needs: []string{managed("Network", "net", "{}")}, resource: `{networkRef: net, ipVersion: 6, cidr: "fd00:1::/64"}`,
		has: attrs{"ip_version": 6.0, "ipv6_address_mode": nil, "ipv6_ra_mode": nil, "enable_dhcp": true},
	},
	{
		kind: "FloatingIP", what: "for a port", in: "network/floatingips", one: "floatingip",
		needs: []string{
			managed("Network", "outside", "{external: true}"),
			managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 192.0.2.0/24}"),
			managed("Router", "router", "{externalGateways: [{networkRef: outside}]}"), managed("Network", "net", "{}"),
			managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24, routerRef: router}"),
			managed("Port", "port", "{networkRef: net, addresses: [{subnetRef: sub, ip: 10.0.0.8}, {subnetRef: sub, ip: 10.0.0.9}]}"),
			child("sub-subnet"), // Until then the port can't be reached.
		},
		resource: "{floatingNetworkRef: outside, floatingIP: 192.0.2.99, portRef: port, fixedIP: 10.0.0.9}",
		has: attrs{
			"floating_network_id": "<Network/outside>", "floating_ip_address": "192.0.2.99", "port_id": "<Port/port>",
			"fixed_ip_address": "10.0.0.9", "router_id": "<Router/router>",
		},
		shows: attrs{
			"floatingIP": "192.0.2.99", "portID": "<Port/port>", "fixedIP": "10.0.0.9", "routerID": "<Router/router>",
			"floatingNetworkID": "<Network/outside>",
		},
		held: map[[2]string]string{{"Port", "port"}: "floatingip"},
	},
	{
		kind: "Router", what: "with a gateway", in: "network/routers", one: "router",
		needs: []string{
			managed("Network", "outside", "{external: true}"),
			managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 192.0.2.0/24}"),
		},
		resource: "{externalGateways: [{networkRef: outside}]}",
		has:      attrs{"external_gateway_info": attrs{"network_id": "<Network/outside>"}},
		shows:    attrs{"externalGateways": list{attrs{"networkID": "<Network/outside>"}}},
	},
	{
		kind: "SecurityGroup", what: "rules", in: "network/security-groups", one: "security_group",
		resource: `{rules: [{ethertype: IPv4, direction: ingress, protocol: tcp, portRange: {min: 22, max: 23},
  remoteIPPrefix: 10.0.0.0/8, description: ssh}]}`,
		has: attrs{"security_group_rules": list{attrs{
			"ethertype": "IPv4", "direction": "ingress", "protocol": "tcp", "port_range_min": 22.0, "port_range_max": 23.0,
			"remote_ip_prefix": "10.0.0.0/8", "description": "ssh",
		}}},
		edits: []edited{{`{"rules":null}`, attrs{"security_group_rules": list{}}}},
	},
	{
		kind: "Trunk", what: "subports", in: "network/trunks", one: "trunk",
		needs: []string{
			managed("Network", "net", "{}"), managed("Port", "port", "{networkRef: net}"),
			managed("Port", "other", "{networkRef: net}"), managed("Port", "third", "{networkRef: net}"),
		},
		resource: "{portRef: port, subports: [{portRef: other, segmentationID: 7, segmentationType: vlan}]}",
		has: attrs{
			"port_id":   "<Port/port>",
			"sub_ports": list{attrs{"port_id": "<Port/other>", "segmentation_id": 7.0, "segmentation_type": "vlan"}},
		},
		shows: attrs{"subports": list{attrs{"portID": "<Port/other>", "segmentationID": int64(7), "segmentationType": "vlan"}}},
		edits: []edited{{
			`{"subports":[{"portRef":"third","segmentationID":7,"segmentationType":"vlan"}]}`,
			attrs{"sub_ports": list{attrs{"port_id": "<Port/third>", "segmentation_id": 7.0, "segmentation_type": "vlan"}}},
		}},
		held: map[[2]string]string{{"Port", "port"}: "trunk", {"Port", "third"}: "trunk-subport"},
	},
}

// child stands for a RouterInterface that a Subnet makes: it is waited for, not applied.
func child(name string) string { return "# kind: RouterInterface\n# name: " + name + " \n---" }

// given has the cloud be asked for what the spec says.
func (a *asked) given(w *world) {
	w.t.Helper()
	needs := scenario{needs: a.needs}
	needs.prepare(w)
	w.apply(managed(a.kind, "it", a.resource))
	w.available(a.kind, "it")
	w.cloudHas(a, a.has)
	w.reports(a.kind, "it", w.resolve(a.shows).(attrs))
	for _, e := range a.edits {
		w.edit(a.kind, "it", `{"spec":{"resource":`+e.patch+`}}`)
		w.available(a.kind, "it")
		w.cloudHas(a, e.has)
	}
	for object, by := range a.held {
		w.delete(object[0], object[1])
		w.says(object[0], object[1], fmt.Sprintf(
			"Waiting for %s/it to be deleted: it holds finalizer openstack.k-orc.cloud/%s", a.kind, by))
	}
}

// cloudHas waits until the cloud says that a resource has these fields.
func (w *world) cloudHas(a *asked, expected attrs) {
	w.t.Helper()
	c, address := w.address(a.in, w.id(a.kind, "it"))
	want := w.resolve(expected)
	testenv.Eventually(w.t, func() error {
		var answer map[string]any
		if err := kit.Call(w.t.Context(), c, http.MethodGet, address, nil, &answer); err != nil {
			return err
		}
		var got any = answer
		if a.one != "" {
			got = answer[a.one]
		}
		if diff := cmp.Diff(want, expectedOf(got, want)); diff != "" {
			return fmt.Errorf("%s/it in the cloud (-want +got):\n%s", a.kind, diff)
		}
		return nil
	})
}

// expectedOf returns what of an answer is expected: OpenStack tells more.
func expectedOf(got, want any) any {
	switch want := want.(type) {
	case attrs:
		object, ok := got.(attrs)
		if !ok {
			return got
		}
		some := attrs{}
		for key := range want {
			some[key] = expectedOf(object[key], want[key])
		}
		return some
	case list:
		all, ok := got.(list)
		if !ok || len(all) != len(want) {
			return got
		}
		some := list{}
		for i := range want {
			some = append(some, expectedOf(all[i], want[i]))
		}
		return some
	default:
		if number, ok := got.(json.Number); ok {
			got, _ = number.Float64()
		}
		return got
	}
}

var placeholder = regexp.MustCompile(`^<(\w+)/([\w-]+)>$`)

// resolve puts ids in the place of what stands for them.
func (w *world) resolve(value any) any {
	w.t.Helper()
	switch value := value.(type) {
	case attrs:
		all := attrs{}
		for key := range value {
			all[key] = w.resolve(value[key])
		}
		return all
	case list:
		all := list{}
		for _, item := range value {
			all = append(all, w.resolve(item))
		}
		return all
	case string:
		if part := placeholder.FindStringSubmatch(value); part != nil {
			return w.id(part[1], part[2])
		}
	}
	return value
}
