// Package group is the kind Group of the openstack pack.
package group
