// Package service is the kind Service of the openstack pack, for /v3/services of Keystone.
package service
