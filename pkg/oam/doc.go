// Package oam helps the controllers of traits and scopes of core.oam.dev to find the objects that they
// act on, for any kind of workload.
//
// An ApplicationConfiguration writes a reference to the workload into a trait. The controller of the
// trait passes the reference to [Children], and gets the objects that the workload is made of, such as
// a Deployment and a Service:
//
//	children, err := oam.Children(ctx, c, trait.Namespace, trait.Spec.WorkloadReference)
//	for _, child := range children { ... }
//
// A workload whose definition names no children stands for itself. The package reads with a
// [client.Client], so that a controller decides by its client what is read from a cache. Each function
// is safe for concurrent use, and returns the errors of the client wrapped: apierrors.IsNotFound tells
// that the workload does not exist yet.
//
// The folder examples/oam has a whole controller.
package oam
