package openstack_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

// scenario is what every kind has to go through.
type scenario struct {
	kind string
	// needs are manifests of what minimal and full refer to; names are theirs.
	needs []string
	// minimal has what is required, full everything; both are specs of resources.
	minimal, full string
	// second is a minimal one beside the first, where they can't be alike.
	second string
	// shows is what the status reports of full, by field.
	shows map[string]any
	// waits are the messages of minimal or full, in order, while nothing is there.
	waits []string
	// guards are the kinds and names of needs that hold until full is gone.
	guards [][2]string
	// edit changes minimal, and edited is what is reported then; restored is
	// reported when the edit is undone.
	edit, undo       string
	edited, restored map[string]any
	// nameless can't be found by name; of single ones there are no two of a name.
	nameless, single bool
	// collection is where the cloud has it.
	collection string
}

// importer finds a resource by its name.
const byName = `{filter: {name: %q}}`

var scenarios = []scenario{
	{
		kind: "Network", collection: "network/networks", minimal: "{}",
		needs: []string{managed("Project", "project", "{}")},
		full: `{name: other, description: text, adminStateUp: false, dnsDomain: example.com., mtu: 1400,
  portSecurityEnabled: false, external: true, shared: true, tags: [b, a], projectRef: project}`,
		shows: map[string]any{
			"name": "other", "description": "text", "adminStateUp": false, "dnsDomain": "example.com.", "mtu": int64(1400),
			"portSecurityEnabled": false, "external": true, "shared": true, "tags": []any{"a", "b"},
		},
		waits: []string{"Project/project"}, guards: [][2]string{{"Project", "project"}},
		edit:     `{"name":"edited","description":"d","adminStateUp":false,"tags":["t"],"mtu":1300}`,
		undo:     `{"name":null,"description":null,"adminStateUp":null,"tags":null}`,
		edited:   map[string]any{"name": "edited", "description": "d", "adminStateUp": false, "tags": []any{"t"}, "mtu": int64(1300)},
		restored: map[string]any{"name": "it", "description": nil, "adminStateUp": true, "tags": nil},
	},
	{
		kind: "Subnet", single: true, collection: "network/subnets",
		minimal: "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}",
		second:  "{networkRef: net, ipVersion: 4, cidr: 10.7.0.0/24}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Router", "router", "{}"), managed("Project", "project", "{}"),
		},
		full: `{name: other, description: text, networkRef: net, ipVersion: 4, cidr: 10.1.0.0/24, enableDHCP: false,
  allocationPools: [{start: 10.1.0.10, end: 10.1.0.20}], gateway: {type: IP, ip: 10.1.0.254},
  dnsNameservers: [1.1.1.1], hostRoutes: [{destination: 10.9.0.0/24, nextHop: 10.1.0.9}], tags: [b, a],
  routerRef: router, projectRef: project}`,
		shows: map[string]any{
			"name": "other", "cidr": "10.1.0.0/24", "gatewayIP": "10.1.0.254", "enableDHCP": false,
			"dnsNameservers":  []any{"1.1.1.1"},
			"allocationPools": []any{map[string]any{"start": "10.1.0.10", "end": "10.1.0.20"}},
			"hostRoutes":      []any{map[string]any{"destination": "10.9.0.0/24", "nextHop": "10.1.0.9"}},
		},
		waits:    []string{"Network/net", "Router/router", "Project/project"},
		guards:   [][2]string{{"Network", "net"}, {"Router", "router"}, {"Project", "project"}},
		edit:     `{"description":"d","enableDHCP":false,"tags":["t"],"dnsNameservers":["9.9.9.9"]}`,
		undo:     `{"description":null,"enableDHCP":null,"tags":null,"dnsNameservers":null}`,
		edited:   map[string]any{"description": "d", "enableDHCP": false, "tags": []any{"t"}, "dnsNameservers": []any{"9.9.9.9"}},
		restored: map[string]any{"description": nil, "enableDHCP": true, "tags": nil, "dnsNameservers": nil},
	},
	{
		kind: "Router", collection: "network/routers", minimal: "{}",
		needs: []string{managed("Network", "outside", "{external: true}"), managed("Project", "project", "{}")},
		full: `{name: other, description: text, adminStateUp: false, externalGateways: [{networkRef: outside}],
  tags: [b, a], projectRef: project}`,
		shows:    map[string]any{"name": "other", "description": "text", "adminStateUp": false, "tags": []any{"a", "b"}},
		waits:    []string{"Network/outside", "Project/project"},
		guards:   [][2]string{{"Network", "outside"}, {"Project", "project"}},
		edit:     `{"description":"d","adminStateUp":false,"tags":["t"]}`,
		undo:     `{"description":null,"adminStateUp":null,"tags":null}`,
		edited:   map[string]any{"description": "d", "adminStateUp": false, "tags": []any{"t"}},
		restored: map[string]any{"description": nil, "adminStateUp": true, "tags": nil},
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
		shows: map[string]any{
			"name": "other", "adminStateUp": false, "macAddress": "fa:16:3e:00:00:01", "tags": []any{"a", "b"},
			"portSecurityEnabled": true,
		},
		waits:    []string{"Network/net", "Subnet/sub", "SecurityGroup/group", "Project/project"},
		guards:   [][2]string{{"Network", "net"}, {"Subnet", "sub"}, {"SecurityGroup", "group"}, {"Project", "project"}},
		edit:     `{"description":"d","adminStateUp":false,"tags":["t"],"allowedAddressPairs":[{"ip":"10.0.0.8"}]}`,
		undo:     `{"description":null,"adminStateUp":null,"tags":null,"allowedAddressPairs":null}`,
		edited:   map[string]any{"description": "d", "adminStateUp": false, "tags": []any{"t"}},
		restored: map[string]any{"description": nil, "adminStateUp": true, "tags": nil, "allowedAddressPairs": nil},
	},
	{
		kind: "SecurityGroup", collection: "network/security_groups", minimal: "{}",
		needs: []string{managed("Project", "project", "{}")},
		full: `{name: other, description: text, tags: [b, a], projectRef: project, rules: [
  {ethertype: IPv4, protocol: tcp, portRange: {min: 22, max: 22}, remoteIPPrefix: 10.0.0.0/8, description: ssh},
  {ethertype: IPv6, direction: egress}]}`,
		shows: map[string]any{"name": "other", "description": "text", "tags": []any{"a", "b"}},
		waits: []string{"Project/project"}, guards: [][2]string{{"Project", "project"}},
		edit:     `{"description":"d","tags":["t"]}`,
		undo:     `{"description":null,"tags":null}`,
		edited:   map[string]any{"description": "d", "tags": []any{"t"}},
		restored: map[string]any{"description": nil, "tags": nil, "rules": nil},
	},
	{
		kind: "Project", single: true, collection: "identity/projects", minimal: "{}",
		needs:    []string{managed("Domain", "domain", "{}")},
		full:     `{name: other, description: text, enabled: false, tags: [b, a], domainRef: domain}`,
		shows:    map[string]any{"name": "other", "description": "text", "enabled": false},
		waits:    []string{"Domain/domain"},
		guards:   [][2]string{{"Domain", "domain"}},
		edit:     `{"description":"d","enabled":false,"tags":["t"]}`,
		undo:     `{"description":null,"enabled":null,"tags":null}`,
		edited:   map[string]any{"description": "d", "enabled": false, "tags": []any{"t"}},
		restored: map[string]any{"description": nil, "enabled": true, "tags": nil},
	},
	{
		kind: "Domain", single: true, collection: "identity/domains", minimal: "{}",
		full:     `{name: other-domain, description: text, enabled: false}`,
		shows:    map[string]any{"name": "other-domain", "description": "text", "enabled": false},
		edit:     `{"description":"d","enabled":false}`,
		undo:     `{"description":null,"enabled":null}`,
		edited:   map[string]any{"description": "d", "enabled": false},
		restored: map[string]any{"description": nil, "enabled": true},
	},
	{
		kind: "FloatingIP", nameless: true, collection: "network/floatingips", minimal: "{floatingNetworkRef: outside}",
		needs: []string{
			managed("Network", "outside", "{external: true}"),
			managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"),
			managed("Project", "project", "{}"),
		},
		full:     `{floatingSubnetRef: sub-out, description: text, tags: [b, a], projectRef: project}`,
		shows:    map[string]any{"description": "text", "tags": []any{"a", "b"}},
		waits:    []string{"Subnet/sub-out", "Project/project"},
		guards:   [][2]string{{"Subnet", "sub-out"}, {"Project", "project"}},
		edit:     `{"description":"d","tags":["t"]}`,
		undo:     `{"description":null,"tags":null}`,
		edited:   map[string]any{"description": "d", "tags": []any{"t"}},
		restored: map[string]any{"description": nil, "tags": nil},
	},
}

func (s *scenario) prepare(w *world) {
	w.apply(s.needs...)
	for _, n := range s.names() {
		if n[0] != "Secret" { // It is there at once.
			w.available(n[0], n[1])
		}
	}
}

// names returns kinds and names of what is needed.
func (s *scenario) names() [][2]string {
	var all [][2]string
	for _, text := range s.needs {
		_, kind, _ := strings.Cut(text, "kind: ")
		_, name, _ := strings.Cut(text, "name: ")
		all = append(all, [2]string{strings.Fields(kind)[0], strings.TrimRight(strings.Fields(name)[0], "},")})
	}
	return all
}

func (s *scenario) createMinimal(t *testing.T) {
	w := newWorld(t)
	s.prepare(w)
	w.apply(managed(s.kind, "it", s.minimal))
	w.available(s.kind, "it")
	w.delete(s.kind, "it")
	w.gone(s.kind, "it")
	if ids := w.inCloud(s.collection, "it"); len(ids) > 0 {
		t.Errorf("left in the cloud: %v", ids)
	}
}

func (s *scenario) createFull(t *testing.T) {
	w := newWorld(t)
	s.prepare(w)
	w.apply(managed(s.kind, "it", s.full))
	w.available(s.kind, "it")
	w.reports(s.kind, "it", s.shows)
}

// missing is what is said while objects are not there.
func missing(objects []string) want {
	return waitingFor(strings.Split(strings.Join(objects, " to be created\n")+" to be created", "\n")...)
}

// dependency names all that is missing, is woken, and holds what it uses.
func (s *scenario) dependency(t *testing.T) {
	w := newWorld(t)
	w.delete("Secret", "cloud")
	w.gone("Secret", "cloud")
	w.apply(managed(s.kind, "it", s.full))
	w.has(s.kind, "it", "Progressing", missing(append([]string{"Secret/cloud"}, s.waits...)))
	w.create(w.secret("cloud", w.cloud.CloudsYAML()))
	w.apply(s.needs...)
	w.available(s.kind, "it")
	s.holds(w)
	w.delete(s.kind, "it")
	w.gone(s.kind, "it")
}

// holds deletes what the object uses, which stays.
func (s *scenario) holds(w *world) {
	w.t.Helper()
	for _, g := range s.guards {
		w.delete(g[0], g[1])
		w.says(g[0], g[1], fmt.Sprintf("Waiting for %s/it to be deleted: it holds finalizer openstack.k-orc.cloud/%s",
			s.kind, strings.ToLower(s.kind)))
	}
}

func (s *scenario) update(t *testing.T) {
	w := newWorld(t)
	s.prepare(w)
	w.apply(managed(s.kind, "it", s.minimal))
	w.available(s.kind, "it")
	s.change(w)
}

// change edits the object, and undoes it.
func (s *scenario) change(w *world) {
	w.t.Helper()
	id := w.id(s.kind, "it")
	w.edit(s.kind, "it", `{"spec":{"resource":`+s.edit+`}}`)
	w.available(s.kind, "it")
	w.reports(s.kind, "it", s.edited)
	w.edit(s.kind, "it", `{"spec":{"resource":`+s.undo+`}}`)
	w.available(s.kind, "it")
	w.reports(s.kind, "it", s.restored)
	if now := w.id(s.kind, "it"); now != id {
		w.t.Errorf("another resource: %s, was %s", now, id)
	}
}

// importing waits for a resource that matches, and deletes it never.
func (s *scenario) importing(t *testing.T) {
	w := newWorld(t)
	s.prepare(w)
	w.apply(imported(s.kind, "import", fmt.Sprintf(byName, "theirs")))
	w.has(s.kind, "import", "Progressing",
		want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
	w.apply(managed(s.kind, "trap", withName(cmp.Or(s.second, s.minimal), "theirs-not")))
	w.apply(managed(s.kind, "source", withName(s.minimal, "theirs")))
	w.available(s.kind, "trap", "source", "import")
	if w.id(s.kind, "import") != w.id(s.kind, "source") {
		t.Errorf("imported another one")
	}
	w.delete(s.kind, "import")
	w.gone(s.kind, "import")
	if ids := w.inCloud(s.collection, "theirs"); len(ids) != 1 {
		t.Errorf("in the cloud: %v, want the one that was imported", ids)
	}
	w.apply(imported(s.kind, "by-id", fmt.Sprintf("{id: %s}", w.id(s.kind, "source"))))
	w.available(s.kind, "by-id")
}

func withName(resource, name string) string {
	if resource == "{}" {
		return "{name: " + name + "}"
	}
	return strings.TrimSuffix(resource, "}") + ", name: " + name + "}"
}

// importError says when an import can't be decided, and when there is nothing.
func (s *scenario) importError(w *world) {
	w.t.Helper()
	if !s.nameless && !s.single {
		s.prepare(w)
		w.apply(managed(s.kind, "one", withName(s.minimal, "theirs")), managed(s.kind, "two", withName(s.minimal, "theirs")))
		w.available(s.kind, "one", "two")
		w.apply(imported(s.kind, "import", fmt.Sprintf(byName, "theirs")))
		w.has(s.kind, "import", "Progressing", want{
			"False", "InvalidConfiguration", "found more than one matching OpenStack resource during import",
		})
	}
	w.apply(imported(s.kind, "nothing", "{id: 7fffffff-0000-4000-8000-000000000000}"))
	w.has(s.kind, "nothing", "Progressing", want{
		"False", "UnrecoverableError", "referenced resource does not exist in OpenStack",
	})
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
