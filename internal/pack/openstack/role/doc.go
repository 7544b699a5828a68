// Package role is the kind Role of the openstack pack, for /v3/roles of Keystone.
package role
