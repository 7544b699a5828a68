// Package port is the kind Port of the openstack pack.
package port
