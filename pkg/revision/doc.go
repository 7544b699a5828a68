// Package revision records each spec of an object in a ControllerRevision of Kubernetes, as the controllers
// of StatefulSets and DaemonSets do. Other objects can then refer to a former spec: an
// ApplicationConfiguration names the revision web-v2 of a Component.
//
// A [History] has the ControllerRevisions of all objects of one kind in a cache. [History.Record] creates a
// revision when the spec has changed, and [History.Prune] deletes the oldest revisions that nobody uses.
//
// An object has the revisions that it controls. A label names the object, so that only these
// ControllerRevisions are watched; the label alone proves nothing, because users can write it. The names are
// NAME-v1, NAME-v2 and so on. The numbers never begin anew while the object exists.
//
// A revision has the authors of the object on record (package authorise): who uses a former spec acts for
// its authors.
package revision
