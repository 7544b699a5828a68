// Package reference writes the Markdown reference. [Pages] makes a page for each API group, from the generated
// CustomResourceDefinitions, with every field of every kind by its path. [Commands] makes the page of all commands with
// their flags, from the commands themselves.
//
// The package does not use elastic/crd-ref-docs, which reads the Go types: elastic/crd-ref-docs
// leaves out a type that two groups share, such as UsageSpec, and one of two versions of a group.
package reference
