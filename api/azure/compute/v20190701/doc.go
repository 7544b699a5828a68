// Package v20190701 has the Go types of Microsoft.Compute in api-version 2019-07-01.
//
// armgen wrote zz_generated.kinds.go. The definitions of the kinds come from package
// api/azure/catalogue, not from these types.
//
// +kubebuilder:object:generate=true
// +kubebuilder:skip
package v20190701

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "microsoft.compute.infra.azure.com", Version: "v20190701"}
