// Package catalogue knows the resource types of Azure Resource Manager as data.
//
// A [Catalogue] is read from a file that armgen wrote: [Open] reads any file, and [Embedded] the file
// beside this package. For each ARM type and api-version the Catalogue has a [Kind]: the names in
// Kubernetes, the scope, the ARM type of the owner, and the [Definition] with the shape of the body.
// The index is read by Open. A Definition is decoded when it is asked for, so a program that serves 10
// kinds doesn't hold the other thousands.
//
//	all, err := catalogue.Embedded()
//	subnet := all.Default("Microsoft.Network/virtualNetworks/subnets")
//	body, err := subnet.ToARM(spec, catalogue.Conversion{Parent: networkID, Resolve: find})
//
// # Two shapes of one resource
//
// An ARM body has its fields below "properties". The spec of the Kubernetes object has these at the
// top, because a [Property] says where its value is in ARM:
//
//	ARM:         {"name": "web", "properties": {"routeTable": {"id": "/subscriptions/..."}}}
//	Kubernetes:  {"azureName": "web", "routeTable": {"kubernetes": {"name": "routes"}}}
//
// An ARM id is a [Reference] in Kubernetes, in one of three forms: kubernetes names an object in the
// same namespace, azure names a resource outside of Kubernetes, self names a part of the same resource,
// such as a frontend of a load balancer.
//
// A sensitive value, such as a password, is a [SecretKey] in Kubernetes: the name of a Secret and a key in the Secret.
// [Kind.ToARM] puts a [Hidden] into the body. [Reveal] replaces the Hidden right before the request.
//
// [Kind.ToARM] and [Kind.FromARM] convert between both. FromARM loses nothing: a value that the shape
// doesn't know, such as null, or a property of a later api-version, is a [Rest], and
// [SetRest] keeps it in spec.raw, from which ToARM puts it back.
//
// # What may be in a file
//
// Open refuses a file that is cut off, that was changed, or that a later armgen wrote. A file that
// passes the check of its hash may still be forged, so no number in the file is trusted: lengths are
// compared with the bytes left, a shape contains earlier shapes only, so no shape contains
// itself, and the depth and the size of a shape are bounded before any shape is walked.
package catalogue
