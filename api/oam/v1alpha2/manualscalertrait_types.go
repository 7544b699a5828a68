package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ManualScalerTraitSpec is a number of replicas for a workload.
type ManualScalerTraitSpec struct {
	ReplicaCount int32 `json:"replicaCount"`
	// WorkloadReference names the workload. An ApplicationConfiguration fills it in.
	WorkloadReference TypedReference `json:"workloadRef"`
}

// ManualScalerTraitStatus is the observed state of a ManualScalerTrait.
type ManualScalerTraitStatus struct {
	ConditionedStatus `json:",inline"`
}

// ManualScalerTrait sets spec.replicas of the children of a workload.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,oam}
type ManualScalerTrait struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ManualScalerTraitSpec   `json:"spec,omitempty"`
	Status ManualScalerTraitStatus `json:"status,omitempty"`
}

// ManualScalerTraitList is a list of ManualScalerTraits.
//
// +kubebuilder:object:root=true
type ManualScalerTraitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ManualScalerTrait `json:"items"`
}
