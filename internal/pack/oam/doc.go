// Package oam is the pack of seed 5: an ApplicationConfiguration renders Components into workloads,
// and applies traits and scopes to them.
//
// applicationconfiguration.go has the steps of a pass over an ApplicationConfiguration. Some functions are
// pure: they read a cache at most, and send no request.
//
//  1. applicationconfiguration.go: the finalizer of an application with scopes.
//  2. render.go: the workloads and traits that the application asks for (pure). sources.go finds the
//     Components, their revisions and the definitions, names.go names the objects, parameters.go writes
//     values of the application into fields of a workload, typed.go says which workloads a trait may be
//     applied to, and bind.go writes the reference to the workload into each trait.
//  3. bind.go: the paths of the definitions lead to fields in the schemas of the traits.
//  4. rights.go: the rights of the authors to all these objects.
//  5. applicationconfiguration.go: the kinds of these objects are watched, and all are listed.
//  6. data.go: values of data outputs in objects with data inputs (package dataflow).
//  7. applyapplication.go: the status names all objects, and then the objects are applied and former
//     objects deleted. workload.go says which obstacles are left.
//  8. scope.go: workloads join scopes, and former workloads leave them.
//  9. applyapplication.go: the status forgets former workloads.
//
// An application that is being deleted goes through scope.go, and then loses its finalizer. In both cases
// status.go writes the outcome as the condition Synced, and events.go tells of changes.
//
// The other kinds have passes of one or two steps, which pass.go runs: component.go records revisions
// (package revision), workload.go makes the children of a ContainerizedWorkload, scaler.go scales, and
// health.go sums up health. scaler.go and health.go find a workload with its children by oam.Watched.
//
// setup.go says which change of a composed object concerns which object, and shown.go which part of a
// workload, a trait or a child is kept in memory. admission.go records authors, replaces short names
// (typed.go) and refuses what can never work, and guards.go has the webhook configurations. pack.go has the
// rights of the operator, relations.go the relations, and kinds.go the names in the cluster.
package oam
