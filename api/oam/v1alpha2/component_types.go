package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ComponentParameter is a value that an ApplicationConfiguration can set in the workload.
type ComponentParameter struct {
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// FieldPaths are the fields of the workload that get the value.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	FieldPaths []string `json:"fieldPaths"`
	// Required says that an ApplicationConfiguration must give a value.
	// +optional
	// +kubebuilder:default=false
	Required *bool `json:"required,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`
}

// ComponentSpec is a workload with parameters.
type ComponentSpec struct {
	// Workload is an object of any kind.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Workload runtime.RawExtension `json:"workload"`
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Parameters []ComponentParameter `json:"parameters,omitempty"`
}

// Revision is a recorded state of a Component.
type Revision struct {
	// Name of the ControllerRevision.
	// +kubebuilder:validation:MaxLength=253
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
}

// ComponentStatus is the observed state of a Component.
type ComponentStatus struct {
	ConditionedStatus `json:",inline"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LatestRevision is the revision of the present spec.
	// +optional
	LatestRevision *Revision `json:"latestRevision,omitempty"`
}

// Component is a workload that ApplicationConfigurations instantiate. Each change of the spec makes a
// ControllerRevision.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,oam}
// +kubebuilder:printcolumn:name="WORKLOAD-KIND",type=string,JSONPath=".spec.workload.kind"
// +kubebuilder:printcolumn:name="age",type=date,JSONPath=".metadata.creationTimestamp"
type Component struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ComponentSpec   `json:"spec,omitempty"`
	Status ComponentStatus `json:"status,omitempty"`
}

// ComponentList is a list of Components.
//
// +kubebuilder:object:root=true
type ComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Component `json:"items"`
}
