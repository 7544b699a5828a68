// Package usage is the pack for deletion protection and ordering: one controller, one admission
// handler of Usages and one of deletions, for the three kinds of Usage.
//
// A Usage passes these files, from its creation to its end:
//
//   - usagehandler.go: the mutating webhook adds the finalizer, the validating webhook checks the
//     rights of the author.
//   - events.go, permission.go: the informer's event updates the ledger. relations.go extracts the
//     edges, and the relation.Watcher watches the kinds of both objects.
//   - reconciler.go: the list of steps. Live steps are in metadata.go, validity.go, resourceref.go,
//     usingbinding.go, locking.go and namespacedeletion.go.
//   - status.go: conditions Ready and Effective.
//   - deletionhandler.go: a user deletes the used object. The API server calls the webhook because
//     of label crossplane.io/in-use, and the handler refuses.
//   - usingbinding.go: the using object is deleted. The ledger starts a pass, which deletes the
//     Usage. The steps of a deleted Usage are in usingbinding.go, locking.go, replay.go and
//     finalizer.go.
//
// The ledger and the handlers run in every replica, the controller in the leader.
package usage
