// Package port is the kind Port of the openstack pack, for /v2.0/ports of Neutron.
package port
