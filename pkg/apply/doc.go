// Package apply applies the set of objects that a parent wants, and deletes objects that the
// parent no longer wants. Examples of parents are an IotConnector with its Deployments, and an
// ApplicationConfiguration with the workloads and traits that were rendered for the
// application. The package knows no kind.
//
// # Inventory
//
// The inventory of a parent is a list of [Entry], one per object. The caller keeps the
// inventory, usually in the parent's status. [Applier.Apply] calls Request.Record before any
// object is created that is not in the inventory, or applied with other content than Entry.Hash
// says. So each object is in a record before the object exists, the process may end between any
// two requests, and the next process finishes the work. Only objects of the inventory are ever
// deleted; labels and names never lead to a deletion.
//
// # Writes
//
// Each write is one request, and a creation is never confused with a change:
//
//   - To create, the Applier uses server-side apply with a resourceVersion that no object has.
//     The API server creates the object, or answers Conflict if the name is taken.
//   - To change, the Applier uses server-side apply with the object's metadata.uid. The API server
//     refuses if the object was deleted or replaced meanwhile.
//
// An object belongs to the parent if its controller is the parent, by uid. An object without a
// controller belongs to the parent if Entry.UID is the object's metadata.uid. All other objects are
// reported as [Foreign] and never changed.
//
// No request is sent if nothing changed. Entry.Hash is a hash of the applied content, and
// Entry.Mark is a hash of the fields in metadata.managedFields that belong to the FieldOwner,
// with the time of their last change. If another client changes, takes over or removes such a
// field, the mark changes and the object is applied again. A change of any other field leaves
// the mark as before. Defaulting and normalisation by the API server don't matter, and a cache
// of PartialObjectMetadata is sufficient.
//
// # Order
//
// Objects are created in waves: wave 1 after every object of wave 0 was applied. Pruning runs in
// reverse, after every apply succeeded and Request.MayPrune returned true. [Applier.Delete]
// deletes the last wave first, and each wave when the wave after it no longer exists.
//
// If an admission webhook or a policy refuses a deletion, the object stays in the inventory and
// is reported as [Refused], with the message of the webhook. Some webhooks word their refusal as
// Conflict: a Conflict counts as [Refused] if a live read shows that the object has not changed.
//
// # Options per object
//
// Object.Yields leaves fields to other field managers that have set them, and Applier.Rivals decides about the fields
// of objects that do not yield. Change.Left says which fields are left. All other fields are applied.
//
// Object.FieldOwner is a field manager for one object. Object.Unowned leaves out the owner
// reference, for cluster-scoped objects and for objects in other namespaces; ParentAnnotation
// names the parent instead. Request.Skip leaves objects of the inventory untouched for one
// call.
//
// # Stores
//
// [Stores] is the [View] for caches of controller-runtime: Go types, Unstructured or
// PartialObjectMetadata. Stores also wakes the parent of a changed object, and each parent that
// waits until a Foreign object of a wanted name is deleted.
package apply
