package openstack_test

import (
	"fmt"

	"github.com/kinship-dev/kinship/pkg/condition"
)

// ambiguous is a filter that two resources match, though there are no two of one name,
// or none has a name.
type ambiguous struct {
	kind  string
	needs []string
	// one and two are the resources; filter matches both, and narrow the first alone.
	one, two, filter, narrow string
}

var ambiguities = []ambiguous{
	{
		kind: "Subnet", needs: []string{managed("Network", "net", "{}")},
		one:    "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}",
		two:    "{networkRef: net, ipVersion: 4, cidr: 10.1.0.0/24}",
		filter: `{"networkRef":"net"}`, narrow: `{"cidr":"10.0.0.0/24"}`,
	},
	{
		kind: "Trunk", one: "{portRef: port1, description: more than one}", two: "{portRef: port2, description: more than one}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Port", "port1", "{networkRef: net}"), managed("Port", "port2", "{networkRef: net}"),
		},
		filter: `{"description":"more than one"}`, narrow: `{"portRef":"port1"}`,
	},
	{
		kind: "FloatingIP", one: "{floatingNetworkRef: out, description: a}", two: "{floatingNetworkRef: out, description: b}",
		needs: []string{
			managed("Network", "out", "{external: true}"),
			managed("Subnet", "sub-out", "{networkRef: out, ipVersion: 4, cidr: 192.0.2.0/24}"),
		},
		filter: `{"floatingNetworkRef":"out"}`, narrow: `{"description":"a"}`,
	},
	{
		kind: "Endpoint", needs: []string{managed("Service", "service", "{type: some}")},
		one:    "{interface: public, url: 'http://example.com', serviceRef: service}",
		two:    "{interface: admin, url: 'http://example.com', serviceRef: service}",
		filter: `{"serviceRef":"service"}`, narrow: `{"interface":"public"}`,
	},
	inDomain("Project"), inDomain("Group"), inDomain("Role"), inDomain("User"),
	{kind: "Domain", one: "{}", two: "{name: another}", filter: `{"enabled":true}`, narrow: `{"name":"one"}`},
	{
		kind: "Flavor", one: "{ram: 77, vcpus: 3, disk: 1}", two: "{ram: 77, vcpus: 4, disk: 1}",
		filter: `{"ram":77}`, narrow: `{"vcpus":3}`,
	},
	{
		kind: "VolumeType", one: "{description: more than one}", two: "{description: more than one, isPublic: false}",
		filter: `{"description":"more than one"}`, narrow: `{"isPublic":true}`,
	},
}

func inDomain(kind string) ambiguous {
	return ambiguous{
		kind: kind, needs: []string{managed("Domain", "domain", "{}")}, one: "{domainRef: domain}", two: "{domainRef: domain}",
		filter: `{"domainRef":"domain"}`, narrow: `{"name":"one"}`,
	}
}

// undecided says that there is more than one, and takes the one that is left when the
// filter is narrower.
func (a *ambiguous) undecided(w *world) {
	w.t.Helper()
	needs := scenario{needs: a.needs}
	needs.prepare(w)
	w.apply(managed(a.kind, "one", a.one), managed(a.kind, "two", a.two))
	w.available(a.kind, "one", "two")
	w.apply(imported(a.kind, "import", "{filter: "+a.filter+"}"))
	more := want{"False", condition.ReasonInvalidConfiguration, "found more than one matching OpenStack resource during import"}
	w.has(a.kind, "import", "Progressing", more)
	w.has(a.kind, "import", "Available", more)
	w.edit(a.kind, "import", fmt.Sprintf(`{"spec":{"import":{"filter":%s}}}`, a.narrow))
	w.available(a.kind, "import")
	if w.id(a.kind, "import") != w.id(a.kind, "one") {
		w.t.Error("imported another one")
	}
}
