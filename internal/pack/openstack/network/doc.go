// Package network is the kind Network of the openstack pack.
package network
