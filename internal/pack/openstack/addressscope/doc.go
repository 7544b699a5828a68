// Package addressscope is the kind AddressScope of the openstack pack.
package addressscope
