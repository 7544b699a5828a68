// Package v1alpha2 is the API group core.oam.dev: an ApplicationConfiguration renders Components into
// workloads, and applies traits and scopes to them. A TraitDefinition or ScopeDefinition names the
// field through which a trait or scope refers to its workloads (seed 5).
//
// Names of kinds, fields, labels and annotations are those of the published API, so that manifests
// written for the API apply unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=core.oam.dev
package v1alpha2
