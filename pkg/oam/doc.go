// Package oam helps the controllers of traits and scopes of core.oam.dev to find the objects to act
// on, for any kind of workload.
//
// An ApplicationConfiguration writes a reference to the workload into a trait. The controller of
// the trait passes the reference to [Children], and gets the children of the workload, such as a
// Deployment and a Service:
//
//	children, err := oam.Children(ctx, c, trait.Namespace, trait.Spec.WorkloadReference)
//	for _, child := range children { ... }
//
// If the WorkloadDefinition names no kinds of children, [Children] returns the workload itself. The
// package reads with a [client.Client], so that a controller decides by its client which kinds a
// cache serves. Each function is safe for concurrent use, and returns the errors of the client
// wrapped: apierrors.IsNotFound(err) is true while the workload does not exist.
//
// The folder examples/oam has a whole controller.
package oam
