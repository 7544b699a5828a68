// Package reconcile has the result type that controllers think in, and the loop
// over the steps that a life cycle is made of.
//
// # Outcome
//
// A step returns an [Outcome]: done, waiting for something, in progress, failed,
// or invalid until a person acts. Outcomes combine with [Outcome.And]; the zero
// value is done. What a controller tells the work queue ([Outcome.Result]) and
// what it tells people (package condition) both follow from it, so they can't
// contradict one another.
//
// Waiting is not an error. An Outcome that waits for an object carries no
// back-off, because a watch wakes the controller when the object changes; only
// a wait for a moment in time has a duration.
//
// # Steps
//
// A life cycle is a list of [Step] values. [Run] runs them in order on one state until a step
// is not done, and logs which one.
//
// # Pass
//
// A [Pass] is the skeleton of every reconciler: read the object, wait until the cache shows the
// own last write, run the steps, write the status once, answer the queue. [Writer] sends the
// writes, [Writes] remembers them.
//
// [Reports] defers status writes that only report progress, such as the twentieth of forty
// Deployments that became available.
//
// # Controller
//
// A [Controller] works on objects that a [Queue] wakes it for: an index knows who is
// concerned by an event, so there is nothing to map and nothing to list. An [OwnKind] watches
// the kind that the reconciler works on, and provides Pass.Read, Controller.Heard and
// Controller.All.
package reconcile
