// Package oam is the pack of seed 5: an ApplicationConfiguration renders Components into workloads,
// and applies traits and scopes to the workloads.
//
// applicationconfiguration.go has the steps of a pass over an ApplicationConfiguration. Some
// functions are pure: a pure function may read a cache, and sends no request.
//
//  1. applicationconfiguration.go: the finalizer of an ApplicationConfiguration with scopes.
//  2. render.go: the workloads and traits that the ApplicationConfiguration requests (pure).
//     sources.go finds the Components, their revisions and the definitions, names.go names the
//     objects, parameters.go writes parameterValues into fields of a workload, typed.go says
//     which workloads a trait may be applied to, and bind.go writes the reference to the
//     workload into each trait.
//  3. bind.go: the paths of the definitions lead to fields in the schemas of the traits.
//  4. rights.go: the rights of the authors to all these objects.
//  5. applicationconfiguration.go: the watches on the kinds of these objects are synced.
//  6. data.go: values of dataOutputs in objects with dataInputs (package dataflow).
//  7. applyapplication.go: status.workloads names all objects; then the objects are applied and
//     former objects deleted. workload.go says which obstacles are left.
//  8. scope.go: workloads join scopes, and former workloads leave their scopes.
//  9. applyapplication.go: status.workloads forgets former workloads.
//
// For a deleted ApplicationConfiguration, the pass runs scope.go and then removes the finalizer. In
// both cases status.go writes the outcome as the condition Synced, and events.go records events
// about changes.
//
// The other kinds have passes of one or two steps, which pass.go runs: component.go records revisions
// (package revision), workload.go creates the children of a ContainerizedWorkload, scaler.go sets
// spec.replicas, and health.go sums up health. scaler.go and health.go find a workload with its
// children by oam.Watched.
//
// setup.go says which change of a composed object concerns which object, and shown.go which part of
// a workload, a trait or a child stays in memory. admission.go records authors, replaces short
// names (typed.go) and refuses objects that can never work, and guards.go has the webhook
// configurations. pack.go has the rights of the operator, relations.go the relations, and kinds.go
// the names in the cluster.
package oam
