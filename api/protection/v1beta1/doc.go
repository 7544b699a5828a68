// Package v1beta1 is the API group protection.crossplane.io: Usage, which lives
// in a namespace, and ClusterUsage, which does not.
//
// Names, fields and validation are those of the published API, so that its
// manifests work unchanged; what Kinship adds is optional (matchAll, the
// namespace of a ClusterUsage's resources, and everything in the status but the
// conditions). docs/compatibility.md lists every difference.
//
// +kubebuilder:object:generate=true
// +groupName=protection.crossplane.io
package v1beta1
