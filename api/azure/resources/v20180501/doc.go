// Package v20180501 has the Go types of Microsoft.Resources in api-version 2018-05-01.
//
// armgen wrote zz_generated.kinds.go. The definitions of the kinds come from package
// api/azure/catalogue, not from these types.
//
// +kubebuilder:object:generate=true
// +kubebuilder:skip
package v20180501

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "microsoft.resources.infra.azure.com", Version: "v20180501"}
