// Package project is the kind Project of the openstack pack, for /v3/projects of Keystone.
package project
