// Package identity makes clients that act as the accounts of the operator: [AsOperator] as the account of the process,
// and [AsPack] as the account of a pack. The tokens are requested from the API server, inside a cluster and outside.
package identity
