// Package kit is what the kinds of the openstack pack are made with.
//
// A kind is a [Table]: the path of its resources, their fields and its [Reference] values. From
// the table an [Actuator] makes the requests: POST with the fields that the spec sets, PUT with
// the fields that differ, PUT of tags, GET of lists page by page. A kind that needs more embeds
// the Actuator, replaces a method, and names the new type in [Table.Wrap].
//
// A Reference is declared once. From {Target: "Network", Field: "spec.resource.networkRef",
// Body: "network_id", Query: "network_id"} of a Subnet follow the wait for the Network, its guard
// finalizer, network_id in POST, and network_id in the query of spec.import.filter.networkRef.
//
// Fields are compared by their JSON, as OpenStack sends and takes them:
//
//	kit.Always("url", r.URL)                    // what every resource has
//	kit.Default("description", r.Description, "") // unset means the default
//	kit.Keep("mtu", r.MTU)                      // unset means whatever it is
//	kit.Fixed("dns_domain", r.DNSDomain)        // can't be changed
//
// [Connector] leads from the Secret that an object names to a client of a service.
package kit
