// Package servergroup is the kind ServerGroup of the openstack pack. No field of a server group
// can be changed.
package servergroup
