// Package v1alpha1 is the API group kinship.dev: what none of the published
// designs has.
//
// +kubebuilder:object:generate=true
// +groupName=kinship.dev
package v1alpha1
