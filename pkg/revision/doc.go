// Package revision records each spec of an object in a ControllerRevision of Kubernetes, as the
// controllers of StatefulSets and DaemonSets do. Other objects can then refer to a former spec: an
// ApplicationConfiguration names the revision web-v2 of a Component.
//
// A [History] has the ControllerRevisions of all objects of one kind in a cache. [History.Record]
// creates a revision when the spec has changed, and [History.Prune] deletes the oldest revisions
// that no other object uses.
//
// The revisions of an object are the ControllerRevisions with the object as controller.
// [History.Label] names the object, so that the operator watches only these ControllerRevisions.
// The label alone proves nothing, because users can write labels. The names are NAME-v1, NAME-v2
// and so on. While the object exists, the numbers never start again at 1.
//
// A revision has the AuthorsAnnotation of the object (package authorise): a user of a former spec
// acts for its authors.
package revision
