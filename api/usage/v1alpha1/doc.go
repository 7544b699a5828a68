// Package v1alpha1 is the API group apiextensions.crossplane.io: the cluster-scoped
// Usage as seed 3 designed it. New manifests use protection.crossplane.io.
//
// +kubebuilder:object:generate=true
// +groupName=apiextensions.crossplane.io
package v1alpha1
