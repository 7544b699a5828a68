// Package app puts the operator together: it knows all packs, and the order in which parts
// start.
//
// Run is the operator. Install prepares a cluster for the operator, and Uninstall removes every
// trace of the operator. All three work from inside a cluster and from outside.
package app
