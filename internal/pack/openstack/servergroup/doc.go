// Package servergroup is the kind ServerGroup of the openstack pack. Nothing of it
// can be changed.
package servergroup
