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
// [reconciler.advance] leads an object through a pass, in this order, and every
// step may end it:
//
//  1. references: what is missing or not ready is named, all of it; a watch wakes.
//  2. keep: finalizers that somebody stripped are put back.
//  3. settled: nothing changed since the last pass, so nothing is asked.
//  4. connect: credentials become an [Actuator].
//  5. hold: guards on targets, our own finalizer, and an intent to create.
//  6. obtain: by id, by import, by an earlier intent, or created.
//  7. correct: what differs from the spec.
//
// [reconciler.conclude] writes the status, once, if it changed.
//
// # Deletion
//
// [reconciler.finish] waits until our finalizer is the last one: the others are
// guards, and whoever holds them still needs the resource. Then the resource is
// deleted; that it is gone already is success.
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
// A [Pool] does it, so that no worker waits. An [Actuator] says [Underway]; the object
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
