package openstack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// immutable are the fields of a kind's resource that can't be changed.
type immutable struct {
	kind string
	// full is a resource with the fields, and bare a resource with required fields only; both
	// are empty if all fields are required.
	full, bare string
	// other are other values of the fields.
	other string
}

// immutables has a row for each kind, and more where fields exclude each other.
var immutables = []immutable{
	{
		kind: "Network", full: "{dnsDomain: example.com., availabilityZoneHints: [a], projectRef: a}", bare: "{}",
		other: "{dnsDomain: example.org., availabilityZoneHints: [b], projectRef: b}",
	},
	{
		kind: "Subnet", bare: "{networkRef: a, ipVersion: 6, cidr: 'fd00::/64'}",
		full: `{networkRef: a, ipVersion: 6, cidr: 'fd00::/64', dnsPublishFixedIP: true, ipv6: {raMode: slaac}, routerRef: a,
  projectRef: a}`,
		other: `{networkRef: b, ipVersion: 4, cidr: 'fd01::/64', dnsPublishFixedIP: false, ipv6: {raMode: dhcpv6-stateful},
  routerRef: b, projectRef: b}`,
	},
	{
		kind: "Router", full: "{externalGateways: [{networkRef: a}], distributed: true, availabilityZoneHints: [a], projectRef: a}",
		other: "{externalGateways: [{networkRef: b}], distributed: false, availabilityZoneHints: [b], projectRef: b}", bare: "{}",
	},
	{
		kind: "RouterInterface", full: "{type: Subnet, routerRef: a, subnetRef: a}", bare: "{type: Subnet, routerRef: a, subnetRef: a}",
		other: "{routerRef: b, subnetRef: b}",
	},
	{
		kind: "Port", bare: "{networkRef: a}",
		full: `{networkRef: a, addresses: [{subnetRef: a}], hostID: {id: a}, macAddress: "fa:16:3e:00:00:01", projectRef: a,
  propagateUplinkStatus: true, valueSpecs: [{key: a, value: a}]}`,
		other: `{networkRef: b, addresses: [{subnetRef: b}], hostID: {id: b}, macAddress: "fa:16:3e:00:00:02", projectRef: b,
  propagateUplinkStatus: false, valueSpecs: [{key: a, value: b}]}`,
	},
	{
		kind: "Trunk", full: "{portRef: a, projectRef: a}", bare: "{portRef: a}", other: "{portRef: b, projectRef: b}",
	},
	{
		kind: "SecurityGroup", full: "{stateful: true, projectRef: a}", bare: "{}", other: "{stateful: false, projectRef: b}",
	},
	{
		kind: "FloatingIP", bare: "{floatingNetworkRef: a}",
		full:  "{floatingNetworkRef: a, floatingIP: 192.0.2.1, portRef: a, fixedIP: 10.0.0.1, projectRef: a}",
		other: "{floatingNetworkRef: b, floatingIP: 192.0.2.2, portRef: b, fixedIP: 10.0.0.2, projectRef: b}",
	},
	{kind: "FloatingIP", full: "{floatingSubnetRef: a}", bare: "{floatingNetworkRef: a}", other: "{floatingSubnetRef: b}"},
	{ // A shared network stays shared.
		kind: "AddressScope", full: "{ipVersion: 4, shared: true, projectRef: a}", bare: "{ipVersion: 4, shared: true}",
		other: "{ipVersion: 6, shared: false, projectRef: b}",
	},
	inOneDomain("Project"), inOneDomain("Group"), inOneDomain("Role"),
	{kind: "Domain", full: "{}", bare: "{}", other: "{}"},
	{
		kind: "User", full: "{domainRef: a, defaultProjectRef: a}", bare: "{}", other: "{domainRef: b, defaultProjectRef: b}",
	},
	{
		kind: "RoleAssignment", full: "{roleRef: a, userRef: a, projectRef: a}", bare: "{roleRef: a, groupRef: a, domainRef: a}",
		other: "{roleRef: b, userRef: b, projectRef: b}",
	},
	{
		kind: "RoleAssignment", full: "{roleRef: a, groupRef: a, domainRef: a}", bare: "{roleRef: a, userRef: a, projectRef: a}",
		other: "{roleRef: b, groupRef: b, domainRef: b}",
	},
	{
		kind: "ApplicationCredential", bare: "{userRef: a, secretRef: a}",
		full: `{name: a, description: a, userRef: a, secretRef: a, roleRefs: [a], unrestricted: true, expiresAt: "2030-01-01T00:00:00Z",
  accessRules: [{path: /a, method: GET, serviceRef: a}]}`,
		other: `{name: b, description: b, userRef: b, secretRef: b, roleRefs: [b], unrestricted: false,
  expiresAt: "2031-01-01T00:00:00Z", accessRules: [{path: /b, method: GET, serviceRef: a}]}`,
	},
	{kind: "Service", full: "{type: a}", bare: "{type: a}", other: "{}"},
	{
		kind: "Endpoint", full: "{interface: public, url: a, serviceRef: a, description: a}",
		bare: "{interface: public, url: a, serviceRef: a}", other: "{serviceRef: b, description: b}",
	},
	{
		kind: "Flavor", bare: "{ram: 1, vcpus: 1, disk: 1}",
		full:  "{name: a, id: a, description: a, ram: 1, vcpus: 1, disk: 1, swap: 1, ephemeral: 1, isPublic: true}",
		other: "{name: b, id: b, description: b, ram: 2, vcpus: 2, disk: 2, swap: 2, ephemeral: 2, isPublic: false}",
	},
	{kind: "KeyPair", full: "{name: a, type: ssh, publicKey: a}", bare: "{publicKey: a}", other: "{name: b, type: x509, publicKey: b}"},
	{
		kind: "ServerGroup", full: "{name: a, policy: anti-affinity, rules: {maxServerPerHost: 1}}", bare: "{policy: anti-affinity}",
		other: "{name: b, policy: affinity, rules: {maxServerPerHost: 2}}",
	},
	{
		kind: "Server", bare: "{flavorRef: a, imageRef: a, ports: []}",
		full: `{flavorRef: a, imageRef: a, ports: [], availabilityZone: a, keypairRef: a, configDrive: true, userData: {secretRef: a},
  schedulerHints: {serverGroupRef: a}}`,
		other: `{flavorRef: b, imageRef: b, availabilityZone: b, keypairRef: b, configDrive: false, userData: {secretRef: b},
  schedulerHints: {serverGroupRef: b}}`,
	},
	{
		kind: "Server", full: "{flavorRef: a, bootVolume: {volumeRef: a}, ports: []}", bare: "{flavorRef: a, imageRef: a, ports: []}",
		other: "{bootVolume: {volumeRef: b}}",
	},
	{
		kind: "Image", full: "{content: {diskFormat: raw, download: {url: 'http://a'}}, properties: {minDiskGB: 1}}",
		bare:  "{content: {diskFormat: raw, download: {url: 'http://a'}}}",
		other: "{content: {diskFormat: raw, download: {url: 'http://b'}}, properties: {minDiskGB: 2}}",
	},
	{
		kind: "Volume", full: "{size: 1, volumeTypeRef: a, availabilityZone: a, imageRef: a, metadata: [{name: a, value: a}]}",
		bare: "{size: 1}", other: "{size: 2, volumeTypeRef: b, availabilityZone: b, imageRef: b, metadata: [{name: a, value: b}]}",
	},
	{kind: "VolumeType", full: "{}", bare: "{}", other: "{}"},
	{
		kind: "ShareNetwork", full: "{networkRef: a, subnetRef: a}", bare: "{}", other: "{networkRef: b, subnetRef: b}",
	},
}

func inOneDomain(kind string) immutable {
	return immutable{kind: kind, full: "{domainRef: a}", bare: "{}", other: "{domainRef: b}"}
}

// mutable are the fields of all kinds that can be changed.
var mutable = map[string][]string{
	"Network":       {"name", "description", "adminStateUp", "shared", "external", "mtu", "portSecurityEnabled", "tags"},
	"Subnet":        {"name", "description", "allocationPools", "hostRoutes", "dnsNameservers", "enableDHCP", "gateway", "tags"},
	"Router":        {"name", "description", "adminStateUp", "tags"},
	"Trunk":         {"name", "description", "adminStateUp", "subports", "tags"},
	"SecurityGroup": {"name", "description", "rules", "tags"}, "FloatingIP": {"description", "tags"},
	"Port": {
		"name", "description", "allowedAddressPairs", "securityGroupRefs", "vnicType", "portSecurity", "adminStateUp", "trustedVIF", "tags",
	},
	"AddressScope": {"name"}, "Project": {"name", "description", "enabled", "tags"}, "Domain": {"name", "description", "enabled"},
	"User": {"name", "description", "enabled", "passwordRef"}, "Group": {"name", "description"}, "Role": {"name", "description"},
	"Service": {"name", "description", "type", "enabled"}, "Endpoint": {"url", "interface", "enabled"},
	"Image": {"name", "visibility", "protected", "tags"}, "Flavor": {"extraSpecs"}, "Volume": {"name", "description"},
	"Server":     {"name", "tags", "metadata", "ports", "volumes"},
	"VolumeType": {"name", "description", "isPublic", "extraSpecs"}, "ShareNetwork": {"name", "description"},
	"RouterInterface": {"adopt", "resyncPeriod", "type"}, // There is only one type.
}

// resourceOf returns the schema of a kind's resource.
func resourceOf(t *testing.T, kind string) schema {
	t.Helper()
	spec := definitions(t)[kind].Properties["spec"]
	if resource, has := spec.Properties["resource"]; has {
		return resource
	}
	return spec // A RouterInterface is that alone.
}

// testImmutables: no field can be changed, removed or added, except mutable fields.
func testImmutables(t *testing.T) {
	w := newWorld(t)
	w.delete("Secret", "cloud") // Nothing comes of the objects.
	w.gone("Secret", "cloud")
	known := map[string][]string{}
	for i, m := range immutables {
		known[m.kind] = append(known[m.kind], m.refused(w, fmt.Sprintf("it%d", i))...)
	}
	for kind := range definitions(t) {
		for field := range resourceOf(t, kind).Properties {
			if !slices.Contains(known[kind], field) && !slices.Contains(mutable[kind], field) {
				t.Errorf("%s.%s is not said to be mutable or not", kind, field)
			}
		}
	}
}

// manifest is that of an object with this resource.
func (m *immutable) manifest(name, resource string) string {
	if m.kind != "RouterInterface" {
		return managed(m.kind, name, resource)
	}
	return fmt.Sprintf("\napiVersion: openstack.k-orc.cloud/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n---",
		m.kind, name, resource)
}

// refused tries to change the fields, and returns the refused fields.
func (m *immutable) refused(w *world, name string) []string {
	w.t.Helper()
	for which, resource := range map[string]string{"full": m.full, "bare": m.bare} {
		w.apply(m.manifest(name+which, resource))
	}
	full, bare, other := m.parsed(w.t, m.full), m.parsed(w.t, m.bare), m.parsed(w.t, m.other)
	required := resourceOf(w.t, m.kind).Required
	var all []string
	for field, value := range other {
		all = append(all, field)
		m.refusesOne(w, name+"full", field, value)
		if !slices.Contains(required, field) && m.kind+field != "AddressScopeshared" { // A field that is left out is kept.
			m.refusesOne(w, name+"full", field, nil)
		}
		if _, has := bare[field]; !has {
			m.refusesOne(w, name+"bare", field, full[field])
		}
	}
	return all
}

func (m *immutable) parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// refusesOne expects that a field can't get a value, for that reason.
func (m *immutable) refusesOne(w *world, name, field string, value any) {
	w.t.Helper()
	spec := map[string]any{field: value}
	if m.kind != "RouterInterface" {
		spec = map[string]any{"resource": spec}
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.c.Patch(w.t.Context(), w.get(m.kind, name), client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
	switch {
	case err == nil:
		w.t.Errorf("%s %s: %s: taken", m.kind, name, patch)
	case !strings.Contains(err.Error(), "immutable") && !strings.Contains(err.Error(), "can't be unshared"):
		w.t.Errorf("%s %s: %s: %v", m.kind, name, patch, err)
	}
}
