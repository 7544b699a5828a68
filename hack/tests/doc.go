// Package tests checks that the tests exist which docs/security.md and
// docs/compatibility/openstack.md name.
package tests
