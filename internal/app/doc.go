// Package app puts the operator together: it is the one place that knows all
// packs, and the order in which things start.
//
// Run is the operator, Install what makes a cluster ready for it, Uninstall what
// leaves no trace of it. All three work from inside a cluster and from outside.
package app
