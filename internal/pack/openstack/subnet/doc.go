// Package subnet is the kind Subnet of the openstack pack. A Subnet that names a
// Router has a RouterInterface made, which belongs to it (child.go).
package subnet
