// Package uninstall removes the operator from a cluster with objects of every pack, in any order: the
// operator, its namespace, its definitions or the namespace of the objects may be deleted first. In the
// end, after `kinship uninstall` or the commands of docs/uninstall.md, no object is stuck.
package uninstall
