// Package service is the kind Service of the openstack pack.
package service
