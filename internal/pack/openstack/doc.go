// Package openstack is the pack for OpenStack resources with dependencies, guards and import.
//
// The doc.go of pkg/external explains the life of an object. This package has only the parts
// that are specific to OpenStack: package kit, which all kinds use, and a package for each
// kind. kinds.go lists the kinds.
package openstack
