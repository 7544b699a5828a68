// Package reference writes the reference of the API groups: a page for each group, from
// the generated definitions, with every field of every kind by its path.
//
// It does so by itself because elastic/crd-ref-docs, which reads the Go types, leaves out
// types that two groups share (a Usage's spec, for example), and one of two versions of a
// group.
package reference
