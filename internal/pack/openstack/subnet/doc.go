// Package subnet is the kind Subnet of the openstack pack, for /v2.0/subnets of Neutron. A
// Subnet with spec.resource.routerRef creates a RouterInterface, and owns it (child.go).
package subnet
