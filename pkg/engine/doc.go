// Package engine turns relations into watches, waits, guards, owner references and edges.
//
// An operator adds its kinds to an [Engine]: each [Kind] has a GVK, the [relation.Relation]
// values of the references in its objects, and a reconciler. From these the Engine derives, for
// every relation:
//
//  1. the index: [Engine.Sources] returns the objects that refer to an object;
//  2. the watch: a change of a target requeues exactly the objects that refer to the target;
//  3. the wait: [Engine.Resolve] finds the targets of an object's references, and [Refs.Waits]
//     returns an Outcome that names every target that is missing or not ready;
//  4. the guard: [Engine.Hold] puts Relation.Finalizer on the targets, and a controller for each
//     guarded kind takes it off when the last source is deleted or stops referring;
//  5. the owner reference: [Engine.Own] adds the target of a relation with role Owner to
//     metadata.ownerReferences, with its UID;
//  6. the edge: [Engine.Edges] returns the edges of an object, and package lineage draws the
//     same Relation values in its graphs;
//  7. the row in a table of relations: Relation.Name, Declarer, Target, Role and Doc.
//
// An example is the relation "spec.configRef of an App names a Config" with the finalizer
// example.com/app: an App waits with "Waiting for Config/blue to be created" until Config blue
// exists, and Config blue is not deleted before the App.
//
// # Writing an operator
//
// [Kind.Work] is the shortest way to a reconciler: the [Engine] calls Work when all references of
// an object are resolved, guarded and owned, and writes the condition Ready. The page
// docs/library.md shows a whole operator. With [Kind.Reconciler] the operator has its own
// reconciler instead, as package external has for objects of cloud resources.
//
// # Kinds that are installed later
//
// With [Options.Catalog], a kind of the [Engine] need not be served when the Engine starts. Objects
// that refer to such a kind wait. When the CustomResourceDefinition is applied, the Engine opens
// the informer of the kind, and the waiting objects are reconciled.
//
// # Locks
//
// An [Engine] has one mutex, which guards maps in memory. The mutex is never held over a request.
// Informers call [Engine.Observe], which sends no request.
package engine
