// Package addressscope is the kind AddressScope of the openstack pack, for /v2.0/address-scopes
// of Neutron.
package addressscope
