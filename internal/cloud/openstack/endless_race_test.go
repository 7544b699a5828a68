//go:build race

package openstack_test

// The race detector takes several times the memory of what it watches.
func init() { raced = 3 }
