// Package v1alpha1 is the API group kinship.dev: the kinds that only Kinship has, such as
// ReferenceGrant.
//
// +kubebuilder:object:generate=true
// +groupName=kinship.dev
package v1alpha1
