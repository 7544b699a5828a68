// Package openstack takes objects of the openstack pack through their lives,
// on a real API server and an emulated cloud. Every test has a namespace and a
// cloud of its own.
package openstack
