// Package seed3 proves that the manifests of seed 3 do what its text says: a test
// for each, named after it, on a real control plane with the operator and the
// garbage collector. The manifests are those of examples/usage; what was
// corrected in them is in docs/decisions/0004-seed-3-slips.md.
package seed3
