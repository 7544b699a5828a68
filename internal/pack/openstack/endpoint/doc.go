// Package endpoint is the kind Endpoint of the openstack pack.
package endpoint
