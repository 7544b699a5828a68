// Package reconcile has the result type of controllers ([Outcome]) and the loop over the steps of a
// life cycle ([Pass]).
//
// # Outcome
//
// A step returns an [Outcome]: done, waiting, in progress, failed, or invalid until a user acts.
// Outcomes combine with [Outcome.And]; the zero value is done. The answer to the work queue
// ([Outcome.Result]) and the conditions (package condition) both follow from the Outcome, so they
// can't contradict each other.
//
// Waiting is not an error. An Outcome that waits for an object has no back-off, because a watch
// requeues the waiting object when the other object changes. Only a wait for a moment in time has
// a duration ([WaitFor]).
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
// writes, and [Writes] records the writes.
//
// [Reports] defers status writes that only report progress, such as the twentieth of forty
// Deployments that became available.
//
// # Controller
//
// A [Controller] reconciles the objects in its [Queue]. An index of relations adds exactly the
// objects that an event concerns, so a Controller has no event handler that maps and lists. An
// [OwnKind] watches the kind that the reconciler works on, and provides [Pass.Read],
// [Controller.Heard] and [Controller.All].
package reconcile
