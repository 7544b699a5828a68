// Package v1beta1 is the API group apiextensions.crossplane.io: the cluster-scoped
// Usage as its published design has it (docs/designs.md). New manifests use protection.crossplane.io.
//
// +kubebuilder:object:generate=true
// +groupName=apiextensions.crossplane.io
package v1beta1
