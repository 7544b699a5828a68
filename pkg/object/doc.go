// Package object names Kubernetes objects.
//
// An [ID] is group, kind, namespace and name, and nothing else. Two IDs are
// equal with == exactly when both name the same object in the API, so an ID can
// be a map key, a graph node, an index value or a work queue item.
//
// # What is left out, and why
//
// The version plays no role: apps/v1 and apps/v1beta1 Deployments are two views
// of one stored object. A relation that says v1beta1 and an object read as v1
// must meet.
//
// The UID plays no role either. An ID names a place: Secret/db in namespace shop has an
// [ID] before the Secret is created and after the Secret is deleted, as a reference in a
// spec has. Code that must act on one object with one UID (owner references, deletes,
// guards) carries the UID beside the ID.
//
// # Two spellings
//
// [ID.String] is a text for people: conditions, events, refusals.
//
//	Cluster.eks.upbound.io/my-cluster
//	ConfigMap/b in namespace n
//
// [ID.Key] is a text for machines: logs, annotations, flags. [Parse] reads a key back.
//
//	Cluster.eks.upbound.io//my-cluster
//	ConfigMap/n/b
//
// A kind holds no dot, so the first dot always begins the group; no part holds
// a slash. In JSON an ID is an object with the four fields.
package object
