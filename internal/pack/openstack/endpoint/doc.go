// Package endpoint is the kind Endpoint of the openstack pack, for /v3/endpoints of Keystone.
package endpoint
