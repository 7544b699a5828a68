// Package seed3 tests that the manifests of seed 3 behave as described there: one test
// per manifest, with the same name, on a real control plane with the operator and the
// garbage collector. The manifests are in examples/usage; their corrections are
// listed in docs/decisions/0004-seed-3-slips.md.
package seed3
