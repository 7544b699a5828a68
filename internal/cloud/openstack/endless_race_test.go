//go:build race

package openstack_test

// The race detector needs several times the memory of the program.
func init() { raced = 3 }
