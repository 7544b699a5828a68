// Package install tests installation and removal of the operator, also in a cluster
// with objects of other owners under the same names, with an incomplete installation
// or with one of another release. Objects of other owners are never changed, and
// removal leaves no object of the operator behind.
package install
