// Package servergroup is the kind ServerGroup of the openstack pack, for /v2.1/os-server-groups
// of Nova. No field of a server group can be changed.
package servergroup
