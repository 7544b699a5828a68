package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Usage protects the object in spec.of from deletion, while the object in spec.by uses it or for
// spec.reason.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=crossplane
// +kubebuilder:printcolumn:name="DETAILS",type="string",JSONPath=`.metadata.annotations.crossplane\.io/usage-details`
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",priority=1
// +kubebuilder:printcolumn:name="EFFECTIVE",type="string",JSONPath=".status.conditions[?(@.type=='Effective')].status",priority=1
// +kubebuilder:storageversion
type Usage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec sharedv1alpha1.UsageSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={}
	Status sharedv1alpha1.UsageStatus `json:"status,omitempty"`
}

// UsageList is a list of Usage objects.
//
// +kubebuilder:object:root=true
type UsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Usage `json:"items"`
}

// UsageSpec returns the spec, which Usage and ClusterUsage have in common.
func (u *Usage) UsageSpec() *sharedv1alpha1.UsageSpec { return &u.Spec }

// UsageStatus returns the status, which Usage and ClusterUsage have in common.
func (u *Usage) UsageStatus() *sharedv1alpha1.UsageStatus { return &u.Status }
