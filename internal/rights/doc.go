// Package rights has the accounts and the rights of the operator as objects: ServiceAccounts, roles and bindings, one
// account for the process and one for each pack, and the roles by which users write the kinds of the packs.
//
// [KindRole] returns the rights to the kinds that users of a pack choose, for `kinship rights`.
package rights
