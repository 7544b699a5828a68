//go:build race

package openstack_test

func init() { raced = true }
