// Package external has the reconciler for objects whose truth lives outside of Kubernetes, behind an
// HTTP API. For example, a Network of pack OpenStack stands for a network of Neutron.
//
// A pack calls [New], then [Engine.Watch] for each kind of other packs to which its objects refer
// (such as Secret), then [Add] with a [Kind] for each of its own kinds, then [Engine.Start]. A [Kind]
// says what the [Engine] can't know: the relations of the kind, how to call the API ([Actuator]), and
// which fields of a resource belong into the status ([Kind.Observe]).
//
// # A pass
//
// A pass is a [reconcile.Pass]. [reconciler.steps] lists the steps in order. The
// steps of an object that exists, with their files, in short:
//
//  1. resolveReferences: the condition names every target that is missing or not ready (connect.go);
//  2. restoreFinalizers: finalizers that a user removed are put back (guards.go);
//  3. endIfSettled: if nothing changed since the last pass, no request is sent (settled.go);
//  4. setOwners and connect: owner references are set, and credentials become an [Actuator]
//     (guards.go, connect.go);
//  5. guardTargets: guards on the targets, then the operator's finalizer. Before a creation, one
//     request writes the owner references, the finalizer and an intent (guards.go, intent.go);
//  6. obtainResource: the resource is read by id, imported, found by an earlier intent, or created
//     (obtain.go, operation.go, create.go);
//  7. correctResource: fields of the resource that differ from the spec are updated (correct.go).
//
// [reconciler.conclude] writes the status, once, if the status changed (status.go).
//
// # Deletion
//
// The steps of a deleted object wait until the operator's finalizer is the last: the other finalizers
// are guards, and their sources still need the resource (cascade.go). For example, a deleted
// Network waits for its Subnets. Then the step deleteResource calls [Actuator.Delete]. If the resource
// is [Missing] already, the step is done (delete.go).
//
// A finalizer that is added during a deletion does not keep the object: such an object is a stray. Its
// resource is deleted when the watch reports the end of the object (stray.go).
//
// The cloud may delete the resources of owned objects with the resource of the owner
// ([Kind.Cascades]). Then a single [Actuator.Delete] serves a whole tree, and waits for users of any
// part of the tree (cascade.go). Objects whose resources were inside the deleted resource
// ([Kind.Within]) end without a request (occupancy.go), and are deleted with their owner (stray.go).
//
// # Decisions
//
// Each decision about a resource is a pure function over a few facts, with a truth table in its
// test: [lastPass], [possession], [attempt] and [remainder].
//
// # Ids
//
// Most clouds choose the id of a resource in the answer to [Actuator.Create]. [Kind.Address] is for
// clouds whose clients choose the id (PUT by id). An [Anonymous] object stands for a resource without
// an id, such as a role assignment: the identity follows from status.resource. [Kind.Realm] is for ids
// that people choose, such as the names of key pairs.
//
// An answer about another resource than the requested resource changes no status (answer.go).
//
// # Kinds without Go types
//
// [Unstructured] is the Go type for kinds that no scheme knows. [Kind.New] then returns an empty
// object of the kind, and a single function can make the [Kind] of each definition (unstructured.go).
//
// With [Options.Catalog] and [Options.Discover], a kind is added when its definition is installed.
// Its informer ends when the definition is deleted.
//
// # Long operations
//
// If [Actuator.Create] begins an operation, the object records the operation in its intent, and
// [Resumer.Resume] asks for the end of the operation: after Retry-After, and in another process too
// (operation.go). The operation of [Actuator.Update] is in memory only: another process calls Update
// again.
//
// [Tasks] do long work of the operator itself, such as the stream of an Image. An [Actuator] then
// returns an [Error] of class [Underway], and Tasks requeue the object at the end.
//
// # Memory
//
// Each object has a record by metadata.uid (record.go): the claim on a resource, the resources that
// the object uses, the users of a shared resource, and the memory of its passes. A restart loses the
// records. Facts that must survive a restart are in the status, or in the annotation with the intent
// ([IntentAnnotation]).
//
// # Shares
//
// A pass that calls a cloud needs a turn (turns.go). Namespaces and places have fair shares of the
// turns. If a place fails or does not answer, a single object at a time calls the place, less and less
// often. The first answer requeues the objects that wait.
//
// # One change at a time
//
// A cloud may change a single resource at a time in some place ([Kind.Serial]). The objects of the
// place, of one kind or of several kinds, then reserve the place in order. A reservation lasts from the
// request to the end of the operation (serial.go).
//
// # Wake-ups
//
// Package engine keeps the edges between objects, requeues the sources of a changed target, and removes
// guards from targets to which no source refers any more.
//
// If a resource changes other resources, as a server changes its ports ([Kind.Alters]), the Ports are
// requeued and read their resources, even if the Ports are settled (alter.go).
package external
