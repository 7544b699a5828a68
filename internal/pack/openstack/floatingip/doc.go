// Package floatingip is the kind FloatingIP of the openstack pack, for /v2.0/floatingips of
// Neutron.
package floatingip
