// Package routerinterface is the kind RouterInterface of the openstack pack. Its resource is
// the port that Neutron creates when a subnet is added to a router.
package routerinterface
