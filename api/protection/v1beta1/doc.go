// Package v1beta1 is the API group protection.crossplane.io: Usage, which is namespaced, and
// ClusterUsage, which is cluster-scoped.
//
// Names, fields and validation equal those of the published API, so that its manifests work
// unchanged. The additions of Kinship are optional: matchAll, the namespace of a ClusterUsage's
// resources, and every field of the status but the conditions. docs/compatibility.md lists every
// difference.
//
// +kubebuilder:object:generate=true
// +groupName=protection.crossplane.io
package v1beta1
