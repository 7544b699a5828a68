// Package watch reads the cluster: discovery and informers.
//
// [Catalog] has the kinds that the cluster serves: one snapshot of discovery, which the operator
// and the plugin share.
//
// [Factory] makes the informers of a cache, such as the cache of controller-runtime. Informers of
// a Factory differ from the informers of client-go in two ways:
//
//   - One object that Go can't decode does not stop the informer of its kind. A schema may
//     accept a value that the Go type refuses: the API server accepts the date-time
//     "2030-01-01t00:00:00z", which metav1.Time can't decode. An informer of client-go then fails
//     to list the kind, and has no object of any namespace. An informer of a Factory decodes
//     each object by itself, leaves the unreadable object out, and reports the object to [Health].
//   - [Health] has the informers that can't list or watch, with the error: a missing right, for
//     example. Kinds and packs that don't need such an informer work.
//
// [Overlay] keeps own writes until an informer shows them.
package watch
