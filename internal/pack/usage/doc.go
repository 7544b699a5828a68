// Package usage is the pack for deletion protection and ordering: one
// controller and one admission handler for the three kinds of Usage.
//
// The way of an object through the pack:
//
//   - A Usage appears. The mutating handler gives it its finalizer, the
//     validating one checks what its author may do (validate.go).
//   - The ledger (ledger.go) hears of it, extracts its edges (relations.go), has
//     the kinds at both ends watched, and wakes the controller.
//   - The controller (reconciler.go) resolves selectors, binds the Usage to the
//     very object that uses the other, has the lock put on, and writes the status.
//   - Somebody deletes the used object. The API server asks, because of the lock;
//     the handler (refuse.go) looks into the ledger and refuses.
//   - The using object goes. The ledger wakes the controller, which deletes the
//     Usage, takes the lock off, replays a refused deletion (release.go), and
//     drops the finalizer.
//
// The ledger and the handlers run in every replica, the controller in one.
package usage
