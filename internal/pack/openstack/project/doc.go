// Package project is the kind Project of the openstack pack.
package project
