// Package object names Kubernetes objects.
//
// An [ID] is group, kind, namespace and name, and nothing else. Two IDs are
// equal with == exactly when they name the same place in the API, so an ID can
// be a map key, a graph node, an index value or a work queue item.
//
// # What is left out, and why
//
// The version plays no role: apps/v1 and apps/v1beta1 Deployments are two views
// of one stored object. A relation that says v1beta1 and an object read as v1
// must meet.
//
// The UID plays no role either: an ID names "whatever lives here", also before
// it exists and after it is gone, which is what a reference in a spec means.
// Code that must act on "this very object" (owner references, deletes, guards)
// carries the UID beside the ID.
//
// # Two spellings
//
// [ID.String] is for people: conditions, events, refusals.
//
//	Cluster.eks.upbound.io/my-cluster
//	ConfigMap/b in namespace n
//
// [ID.Key] is for machines: logs, annotations, flags. [Parse] reads it back.
//
//	Cluster.eks.upbound.io//my-cluster
//	ConfigMap/n/b
//
// A kind holds no dot, so the first dot always begins the group; no part holds
// a slash. In JSON an ID is an object with the four fields.
package object
