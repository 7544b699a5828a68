// Package security tries to gain through Usages what RBAC does not give: to hold
// or to delete an object that one may not delete, to learn of one that one may
// not see, to write what only the operator may write. It also holds the operator
// to its own rights: each that it has is used, and no request of it is refused.
package security
