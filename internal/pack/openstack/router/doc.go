// Package router is the kind Router of the openstack pack, for /v2.0/routers of Neutron.
package router
