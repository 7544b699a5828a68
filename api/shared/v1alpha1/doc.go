// Package v1alpha1 holds the types that several API groups of Kinship share: spec and status of
// Usage and ClusterUsage, the common fields of resources outside Kubernetes, and the types and
// reasons of conditions.
//
// The package is no API group: the API server serves no kind of it. A type moves here once a second
// group needs it.
//
// +kubebuilder:object:generate=true
package v1alpha1
