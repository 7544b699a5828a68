package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HealthStatus says whether a workload or a scope is healthy.
type HealthStatus string

// The health of a workload.
const (
	Healthy       HealthStatus = "HEALTHY"
	Unhealthy     HealthStatus = "UNHEALTHY"
	HealthUnknown HealthStatus = "UNKNOWN"
)

// HealthScopeSpec is the list of workloads of a scope.
type HealthScopeSpec struct {
	// ProbeTimeout is accepted and has no effect: health is computed from watches. In seconds.
	// +optional
	ProbeTimeout *int32 `json:"probe-timeout,omitempty"`
	// ProbeInterval is the longest time between two looks, in seconds.
	// +optional
	ProbeInterval *int32 `json:"probe-interval,omitempty"`
	// WorkloadReferences name the workloads. ApplicationConfigurations fill them in.
	// +optional
	// +kubebuilder:validation:MaxItems=4096
	WorkloadReferences []TypedReference `json:"workloadRefs,omitempty"`
}

// ScopeHealthCondition sums up the health of a scope.
type ScopeHealthCondition struct {
	HealthStatus       HealthStatus `json:"healthStatus"`
	Total              int64        `json:"total,omitempty"`
	HealthyWorkloads   int64        `json:"healthyWorkloads,omitempty"`
	UnhealthyWorkloads int64        `json:"unhealthyWorkloads,omitempty"`
	UnknownWorkloads   int64        `json:"unknownWorkloads,omitempty"`
}

// WorkloadHealthCondition is the health of one workload.
type WorkloadHealthCondition struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComponentName string `json:"componentName,omitempty"`
	// +optional
	TargetWorkload TypedReference `json:"targetWorkload,omitempty"`
	HealthStatus   HealthStatus   `json:"healthStatus"`
	// Diagnosis says why the workload is not healthy.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Diagnosis string `json:"diagnosis,omitempty"`
	// WorkloadStatus is the status of a workload of an unknown kind, as JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	WorkloadStatus string `json:"workloadStatus,omitempty"`
}

// HealthScopeStatus is the health of a scope.
type HealthScopeStatus struct {
	ConditionedStatus `json:",inline"`

	// +optional
	ScopeHealthCondition *ScopeHealthCondition `json:"scopeHealthCondition,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=4096
	WorkloadHealthConditions []WorkloadHealthCondition `json:"healthConditions,omitempty"`
}

// HealthScope tells the health of workloads.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,oam}
// +kubebuilder:printcolumn:name="HEALTH",type=string,JSONPath=".status.scopeHealthCondition.healthStatus"
type HealthScope struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HealthScopeSpec   `json:"spec,omitempty"`
	Status HealthScopeStatus `json:"status,omitempty"`
}

// HealthScopeList is a list of HealthScopes.
//
// +kubebuilder:object:root=true
type HealthScopeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HealthScope `json:"items"`
}
