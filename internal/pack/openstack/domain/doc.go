// Package domain is the kind Domain of the openstack pack, for /v3/domains of Keystone.
package domain
