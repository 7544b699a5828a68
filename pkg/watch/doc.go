// Package watch is where the operator sees the cluster.
//
// [Catalog] knows what kinds the cluster serves: one snapshot of discovery, which the operator
// and the plugin share.
//
// [Factory] makes the informers of a cache, such as controller-runtime's. Informers of a
// Factory differ from plain ones in two ways:
//
//   - One object that Go can't read does not stop the informer of its kind. A schema may
//     accept a value that the Go type refuses: the API server takes the date-time
//     "2030-01-01t00:00:00z", which metav1.Time can't read. A plain informer then fails
//     to list the kind, and with it every object of all namespaces. A Factory's informer
//     decodes the objects one by one, leaves the unreadable object out, and reports it.
//   - [Health] knows which informers can't list or watch, and why: a missing right, for
//     example. Kinds and packs that don't need such an informer go on.
package watch
