// Package tests compares what docs/security.md says of tests with the tests.
package tests
