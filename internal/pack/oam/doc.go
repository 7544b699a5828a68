// Package oam is the pack of seed 5: an ApplicationConfiguration renders Components into workloads,
// and applies traits and scopes to them.
//
// A pass over an ApplicationConfiguration goes through these files:
//
//  1. render.go: the workloads and traits that the application asks for (pure);
//  2. names.go: their names and labels (pure);
//  3. parameters.go: values of the application in the fields of a workload (pure);
//  4. bind.go: the reference to the workload in each trait, at the path of the TraitDefinition (pure).
package oam
