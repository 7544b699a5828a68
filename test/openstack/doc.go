// Package openstack tests create, update and delete of the kinds of the openstack
// pack, on a real API server and an emulated cloud. Every test has its own namespace
// and its own cloud.
package openstack
