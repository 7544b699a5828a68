// Package apply makes a set of objects what one other object, their parent, wants
// them to be, and removes what the parent no longer wants. It knows nothing of any
// kind: a composite's Deployments and a rendered application are the same to it.
//
// # The record
//
// What was made for a parent is in its inventory, a list of [Entry]. The caller
// keeps it, usually in the parent's status. [Applier.Apply] calls Request.Record
// before it creates anything that the inventory does not have, or makes anything
// other than the inventory says, so at no time is there an object that no record
// knows, or a record that is wrong; a process may end between any two requests,
// and the next one finishes the work. What is deleted is decided by the
// inventory alone, never by a list of what looks as if it were ours.
//
// # The writes
//
// An object that is not there is created, one that is there is changed, and the
// two are never confused, in one request each:
//
//   - Creating is server-side apply with a resourceVersion that no object can
//     have. The API server then creates the object, or refuses when one of that
//     name exists.
//   - Changing is server-side apply with the object's uid. It is refused when the
//     object has gone meanwhile, or another one has its name.
//
// So a stranger's object is not merged with by accident. One is ours when its
// controller is the parent, by uid, or it has none and the inventory has its uid.
// All others are left alone and reported as [Foreign].
//
// Nothing is written when nothing changed. Each entry keeps a hash of what was
// applied, and a mark: a hash of which fields the API server then said are ours,
// and since when. Whoever changes, takes over or removes one of them, changes
// that; a change of any other field does not. So the mark notices every edit that
// matters and no other, whatever the kind and however the API server defaults and
// normalises its values, and a cache of metadata is enough to read it.
//
// # The order
//
// Objects are in waves. A wave is created after the one before it was. Pruning
// goes the other way round, after every apply has succeeded and Request.MayPrune
// agrees. [Applier.Delete] removes everything, the last wave first, and each wave
// only when the one after it is gone.
//
// What somebody does not let us delete, an admission webhook say, stays in the
// inventory and is reported as [Refused], with what they say of it. That is no
// failure: the caller says so, and tries again when they may think otherwise. A
// refusal may be worded as a conflict, like that of an object which has changed
// meanwhile; it is one when a live read says that nothing has.
//
// What was done is a [ChangeSet]: return value, event and line of the log.
package apply
