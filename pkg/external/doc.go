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
// A finalizer that is added during a deletion does not hold the object: such an object is a stray,
// and its resource is deleted once the watch reports the end of the object (stray.go).
//
// The resource of an owner may take along the resources of what it owns ([Kind.Cascades]): then one
// Delete serves a whole tree, and waits for users of any part of the tree (cascade.go).
//
// # Decisions
//
// Each decision about a resource is a pure function over a few facts, with a truth table in its
// test: [lastPass], [possession], [attempt] and [remainder].
//
// # Ids
//
// Most clouds choose the id of a resource in the answer to Create. [Kind.Address] is for clouds
// whose clients choose the id (PUT by id). An [Anonymous] object stands for a resource without an
// id, such as a role assignment: the identity follows from status.resource. [Kind.Realm] is for ids
// that people choose, such as the names of key pairs.
//
// An answer about another resource than the one that was asked for changes no status (answer.go).
//
// # Kinds without Go types
//
// [Unstructured] is the Go type for kinds that no scheme knows. [Kind.New] then returns an empty object
// of the kind, and one function can make the Kind of each definition (unstructured.go).
//
// With [Options.Catalog] and [Options.Discover], a kind is added when its definition is installed, and its
// informer ends with the definition.
//
// # Long operations
//
// If Create begins an operation, the object records the operation, and a [Resumer] asks for its end:
// after Retry-After, and in another process too (operation.go). The operation of an Update is known to
// one process alone: another process calls Update again. [Tasks] do long work of the operator
// itself, such as the stream of an Image. An [Actuator] then returns an error of class [Underway],
// and Tasks requeue the object at the end.
//
// # Memory
//
// Each object has one record by its uid (record.go): the claim on a resource, the resources that it
// uses, the users of a shared resource, and the memory of its passes. A restart loses the records:
// whatever must survive is in the status, or in the annotation with the intent.
//
// # Shares
//
// A pass that calls a cloud needs a turn (turns.go). Namespaces and places have fair shares of the
// turns. If a place fails or does not answer, one object at a time calls the place, less and less
// often; the first answer requeues the objects that wait.
//
// # One change at a time
//
// A cloud may change one resource at a time in some place ([Kind.Serial]). The objects of the place then reserve
// it one after the other, each from the request to the end of the operation (serial.go).
//
// # Wake-ups
//
// Package engine keeps the edges between objects. It requeues the sources of a target that changed,
// and takes guards off targets that no source refers to any more.
//
// If a resource changes the resources that it refers to, as a server does its ports, the objects of
// the latter are requeued, and read their resources even if they are settled (alter.go).
package external
