package openstack_test

// more are the kinds that are a table and little else.
var more = []scenario{
	{
		kind: "Trunk", collection: "network/trunks", minimal: "{portRef: port}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Port", "port", "{networkRef: net}"),
			managed("Port", "other", "{networkRef: net}"), managed("Project", "project", "{}"),
		},
		full: `{name: other, description: text, portRef: port, adminStateUp: false, tags: [b, a], projectRef: project,
  subports: [{portRef: other, segmentationID: 7, segmentationType: vlan}]}`,
	},
	{
		kind: "AddressScope", collection: "network/address_scopes", minimal: "{ipVersion: 4}",
		needs: []string{managed("Project", "project", "{}")},
		full:  `{name: other, ipVersion: 6, shared: true, projectRef: project}`,
	},
	{
		kind: "Group", collection: "identity/groups", minimal: "{}",
		needs: []string{managed("Domain", "domain", "{}")},
		full:  `{name: other, description: text, domainRef: domain}`,
	},
	{
		kind: "Role", collection: "identity/roles", minimal: "{}",
		needs: []string{managed("Domain", "domain", "{}")},
		full:  `{name: other, description: text, domainRef: domain}`,
	},
	{
		kind: "Service", collection: "identity/services", minimal: "{type: some}",
		full: `{name: other, description: text, type: sort, enabled: false}`,
	},
	{
		kind: "Endpoint", collection: "identity/endpoints",
		minimal: "{interface: public, url: 'http://example.com', serviceRef: service}",
		needs:   []string{managed("Service", "service", "{type: some}")},
		full:    `{interface: admin, url: 'http://example.org', enabled: false, serviceRef: service}`,
	},
	{
		kind: "ServerGroup", collection: "compute/server_groups", minimal: "{policy: affinity}",
		full: `{name: other, policy: anti-affinity, rules: {maxServerPerHost: 2}}`,
	},
	{
		kind: "ShareNetwork", collection: "share/share_networks", minimal: "{}",
		needs: []string{
			managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"),
		},
		full: `{name: other, description: text, networkRef: net, subnetRef: sub}`,
	},
}
