// Package options has the options of the operator: their defaults, their checks by the names of their flags, and what
// follows from options alone, such as the names of accounts and the chosen packs.
//
// [Options] are the value that `kinship operator`, `kinship manifests`, `kinship doctor` and `kinship uninstall` share.
// Package options sends no request to a cluster.
package options
