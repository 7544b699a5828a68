// Package openstack is the pack for seed 4: OpenStack resources with dependencies,
// guards and import.
//
// The way of an object through the pack is that of pkg/external, whose doc.go
// tells it. What is here is only what OpenStack is about: package kit, what all
// kinds are made with, and a package for each kind. kinds.go lists them.
package openstack
