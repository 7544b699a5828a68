// Package group is the kind Group of the openstack pack, for /v3/groups of Keystone.
package group
