// Package network is the kind Network of the openstack pack, for /v2.0/networks of Neutron.
package network
