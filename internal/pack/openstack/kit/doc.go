// Package kit is what the kinds of the openstack pack are made with.
//
// A kind is a [Table]: where its resources are found, which fields they have, and
// how a filter reads. From the table, an [Actuator] makes the requests: POST with
// the fields that the spec sets, PUT with those that differ, tags, lists page by
// page. A kind that needs more embeds the Actuator and replaces a method.
//
// Fields are compared by their JSON, as OpenStack sends and takes them:
//
//	kit.Always("name", s.GetResourceName())    // what every resource has
//	kit.Default("description", r.Description, "") // unset means the default
//	kit.Keep("mtu", r.MTU)                      // unset means whatever it is
//	kit.Fixed("dns_domain", r.DNSDomain)        // can't be changed
//
// [Connector] leads from the Secret that an object names to a client of a service.
package kit
