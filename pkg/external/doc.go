// Package external has the one reconciler for objects whose truth lives outside
// Kubernetes, behind an HTTP API.
//
// A pack makes an [Engine], tells it which kinds its objects refer to without
// being of the pack ([Engine.Watch]), adds a [Kind] for each of its own ([Add]),
// and starts it. A kind says what the engine can't know: its relations, how to
// reach what it manages ([Actuator]), and what of that goes into the status.
//
// # A pass
//
// A pass is a [reconcile.Pass]. [reconciler.steps] lists the steps in their order, and each step
// is in a file of its own. The steps of an object that exists, in short:
//
//  1. references: the condition names every target that is missing or not ready (resolve.go);
//  2. finalizers that a person removed are put back (guards.go);
//  3. settled: nothing changed since the last pass, so no request is sent (settled.go);
//  4. credentials become an [Actuator] (connect.go);
//  5. guards on the targets, the operator's finalizer, and an intent to create (guards.go,
//     intent.go);
//  6. the resource is read by id, imported, found by an earlier intent, or created (obtain.go,
//     import.go, attempt.go, create.go);
//  7. fields of the resource that differ from the spec are updated (correct.go).
//
// [reconciler.conclude] writes the status, once, if the status changed (status.go).
//
// # Deletion
//
// The steps of a deleted object wait until the operator's finalizer is the last one: the other
// finalizers are guards, and their sources still need the resource (awaitfinalizers.go). Then
// [Actuator.Delete] is called; a resource that is gone already is success (delete.go).
//
// # Decisions
//
// What to do about a resource is decided by pure functions over a few facts, each with a truth
// table in its test: [lastPass], [possession], [attempt] and [remainder].
//
// An object that was being deleted when it got our finalizer does not wait for us; its
// resource is deleted once the watch tells that it is gone (stray.go).
//
// # Without an id
//
// A resource that has no id is known by what it consists of: its object is
// [Anonymous] and tells that from its status, which has no id either. Ids that people
// choose are unique in a [Kind.Realm] only.
//
// # What takes long
//
// [Tasks] do it beside the passes. An [Actuator] says [Underway]; the object
// is woken at the end, and nothing is polled.
//
// # Shares
//
// A pass that calls outside needs a turn (turns.go). Namespaces and places have fair shares
// of the turns. A place that fails or does not answer is asked by one object at a time, and
// less and less often; the objects that wait are woken by the first answer.
//
// # Wake-ups
//
// Package engine keeps the edges between objects. It requeues the sources of a target that
// changed, and takes guards off targets that no source refers to any more.
//
// Where a resource changes those that it refers to, as a server does its ports, the
// objects of these are looked at once more, settled or not (alter.go).
package external
