package openstack_test

import (
	"fmt"
)

// byParent is an import by something that the resource belongs to. The object
// "ref" stands for what the object "parent" has made.
type byParent struct {
	kind, filter string
	// parent is its kind, and made its resource.
	parent, made string
	// others are what trap and source need besides.
	others []string
	// trap is like source but for what it belongs to.
	trap, source string
}

var byParents = []byParent{
	byProject("Network", "{name: twin%s}"),
	byProject("Router", "{name: twin%s}"),
	byProject("SecurityGroup", "{name: twin%s}"),
	byProject("AddressScope", "{name: twin, ipVersion: 4%s}"),
	{
		kind: "Subnet", filter: "{name: twin, networkRef: ref}", parent: "Network", made: "{name: theirs}",
		others: []string{managed("Network", "other", "{}")},
		trap:   "{name: twin, networkRef: other, ipVersion: 4, cidr: 10.0.0.0/24}",
		source: "{name: twin, networkRef: parent, ipVersion: 4, cidr: 10.0.0.0/24}",
	},
	{
		kind: "Port", filter: "{name: twin, networkRef: ref}", parent: "Network", made: "{name: theirs}",
		others: []string{managed("Network", "other", "{}")},
		trap:   "{name: twin, networkRef: other}", source: "{name: twin, networkRef: parent}",
	},
	{
		kind: "FloatingIP", filter: "{floatingNetworkRef: ref}", parent: "Network", made: "{name: theirs, external: true}",
		others: []string{
			managed("Network", "other", "{external: true}"),
			managed("Subnet", "other", "{networkRef: other, ipVersion: 4, cidr: 192.0.2.0/24}"),
			managed("Subnet", "parent", "{networkRef: parent, ipVersion: 4, cidr: 198.51.100.0/24}"),
		},
		trap: "{floatingNetworkRef: other}", source: "{floatingNetworkRef: parent}",
	},
	{
		kind: "Trunk", filter: "{name: twin, portRef: ref}", parent: "Port", made: "{name: theirs, networkRef: net}",
		others: []string{managed("Network", "net", "{}"), managed("Port", "other", "{networkRef: net}")},
		trap:   "{name: twin, portRef: other}", source: "{name: twin, portRef: parent}",
	},
	byDomain("Project"), byDomain("Group"), byDomain("Role"),
	{
		kind: "Endpoint", filter: "{interface: public, serviceRef: ref}", parent: "Service", made: "{name: theirs, type: one}",
		others: []string{managed("Service", "other", "{type: two}")},
		trap:   "{interface: public, url: 'http://example.com', serviceRef: other}",
		source: "{interface: public, url: 'http://example.com', serviceRef: parent}",
	},
}

func byProject(kind, resource string) byParent {
	return byParent{
		kind: kind, filter: "{name: twin, projectRef: ref}", parent: "Project", made: "{name: theirs}",
		trap: fmt.Sprintf(resource, ""), source: fmt.Sprintf(resource, ", projectRef: parent"),
	}
}

func byDomain(kind string) byParent {
	return byParent{
		kind: kind, filter: "{name: twin, domainRef: ref}", parent: "Domain", made: "{name: theirs}",
		trap: "{name: twin}", source: "{name: twin, domainRef: parent}",
	}
}

// importDependency waits for what a filter names, tells two of one name apart by it,
// and holds it never.
func (b byParent) importDependency(w *world) {
	w.t.Helper()
	w.apply(imported(b.kind, "import", "{filter: "+b.filter+"}"))
	w.has(b.kind, "import", "Progressing", waitingFor(b.parent+"/ref to be created"))
	w.apply(b.others...)
	w.apply(managed(b.parent, "parent", b.made), imported(b.parent, "ref", fmt.Sprintf(byName, "theirs")),
		managed(b.kind, "trap", b.trap))
	w.available(b.kind, "trap")
	w.available(b.parent, "ref")
	w.has(b.kind, "import", "Progressing",
		want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
	w.apply(managed(b.kind, "source", b.source))
	w.available(b.kind, "source", "import")
	if w.id(b.kind, "import") != w.id(b.kind, "source") {
		w.t.Error("imported another one")
	}
	w.delete(b.parent, "ref")
	w.gone(b.parent, "ref")
}
