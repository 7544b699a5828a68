package openstack_test

import (
	"strings"
	"testing"
)

// scenario is a kind with the input for the tests of all kinds. testdata/scenarios has the
// expected fields and conditions.
type scenario struct {
	kind string
	// needs are manifests of the references of minimal and full; names are their names.
	needs []string
	// minimal has the required fields, full all fields; both are specs of resources.
	minimal, full string
	// collection is the collection in the cloud.
	collection string
}

// byName finds a resource.
const byName = `{filter: {name: %q}}`

var scenarios = []scenario{
	{
		kind: "Network", collection: "network/networks", minimal: "{}",
		needs: []string{managed("Project", "project", "{}")},
		full: `{name: other, description: text, adminStateUp: false, dnsDomain: example.com., mtu: 1400,
  portSecurityEnabled: false, external: true, shared: true, tags: [b, a], projectRef: project}`,
	},
	{
		kind: "Subnet", collection: "network/subnets",
		minimal: "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Router", "router", "{}"), managed("Project", "project", "{}"),
		},
		full: `{name: other, description: text, networkRef: net, ipVersion: 4, cidr: 10.1.0.0/24, enableDHCP: false,
  allocationPools: [{start: 10.1.0.10, end: 10.1.0.20}], gateway: {type: IP, ip: 10.1.0.254},
  dnsNameservers: [1.1.1.1], hostRoutes: [{destination: 10.9.0.0/24, nextHop: 10.1.0.9}], tags: [b, a],
  routerRef: router, projectRef: project}`,
	},
	{
		kind: "Router", collection: "network/routers", minimal: "{}",
		needs: []string{managed("Network", "outside", "{external: true}"), managed("Project", "project", "{}")},
		full: `{name: other, description: text, adminStateUp: false, externalGateways: [{networkRef: outside}],
  tags: [b, a], projectRef: project}`,
	},
	{
		kind: "Port", collection: "network/ports", minimal: "{networkRef: net}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"),
			managed("SecurityGroup", "group", "{}"), managed("Project", "project", "{}"),
		},
		full: `{name: other, description: text, networkRef: net, addresses: [{subnetRef: sub, ip: 10.0.0.77}],
  adminStateUp: false, securityGroupRefs: [group], allowedAddressPairs: [{ip: 10.0.0.9}], tags: [b, a],
  portSecurity: Enabled, macAddress: "fa:16:3e:00:00:01", projectRef: project}`,
	},
	{
		kind: "SecurityGroup", collection: "network/security_groups", minimal: "{}",
		needs: []string{managed("Project", "project", "{}")},
		full: `{name: other, description: text, tags: [b, a], projectRef: project, rules: [
  {ethertype: IPv4, protocol: tcp, portRange: {min: 22, max: 22}, remoteIPPrefix: 10.0.0.0/8, description: ssh},
  {ethertype: IPv6, direction: egress}]}`,
	},
	{
		kind: "Project", collection: "identity/projects", minimal: "{}",
		needs: []string{managed("Domain", "domain", "{}")},
		full:  `{name: other, description: text, enabled: false, tags: [b, a], domainRef: domain}`,
	},
	{
		kind: "Domain", collection: "identity/domains", minimal: "{}",
		full: `{name: other-domain, description: text, enabled: false}`,
	},
	{
		kind: "FloatingIP", collection: "network/floatingips", minimal: "{floatingNetworkRef: outside}",
		needs: []string{
			managed("Network", "outside", "{external: true}"),
			managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"),
			managed("Project", "project", "{}"),
		},
		full: `{floatingSubnetRef: sub-out, description: text, tags: [b, a], projectRef: project}`,
	},
}

func (s *scenario) prepare(w *world) {
	w.apply(s.needs...)
	for _, n := range s.names() {
		if n[0] != "Secret" { // The resource exists at once.
			w.available(n[0], n[1])
		}
	}
}

// names returns kinds and names of the references.
func (s *scenario) names() [][2]string {
	var all [][2]string
	for _, text := range s.needs {
		_, kind, _ := strings.Cut(text, "kind: ")
		_, name, _ := strings.Cut(text, "name: ")
		all = append(all, [2]string{strings.Fields(kind)[0], strings.TrimRight(strings.Fields(name)[0], "},")})
	}
	return all
}

// deletedOutside is repaired at the next comparison.
func (s *scenario) deletedOutside(t *testing.T) {
	w := newWorld(t)
	s.prepare(w)
	w.apply(manifest(s.kind, "it", "resyncPeriod: 1s, resource: "+s.minimal))
	w.available(s.kind, "it")
	w.deleteOutside(s.collection, w.id(s.kind, "it"))
	w.remade(s.kind, "it", s.collection)
}
