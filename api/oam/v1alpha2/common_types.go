package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels and annotations of workloads and traits.
const (
	// LabelAppName is the name of the ApplicationConfiguration.
	LabelAppName = "app.oam.dev/name"
	// LabelAppComponent is the name of the Component.
	LabelAppComponent = "app.oam.dev/component"
	// LabelAppRevision is the name of the Component's revision.
	LabelAppRevision = "app.oam.dev/revision"
	// LabelResourceType is ResourceTypeWorkload or ResourceTypeTrait.
	LabelResourceType = "app.oam.dev/resourceType"
	// AnnotationAppGeneration is metadata.generation of the ApplicationConfiguration.
	AnnotationAppGeneration = "app.oam.dev/generation"
	// LabelWorkloadType overrides the name of the WorkloadDefinition.
	LabelWorkloadType = "workload.oam.dev/type"
	// LabelTraitType overrides the name of the TraitDefinition.
	LabelTraitType = "trait.oam.dev/type"
	// LabelExpose is "true" on the children that a workload shows to traits, where it has several
	// children of one kind.
	LabelExpose = "core.oam.dev/expose"
	// LabelComponent is on the ControllerRevisions of a Component.
	LabelComponent = "controller.oam.dev/component"

	ResourceTypeWorkload = "WORKLOAD"
	ResourceTypeTrait    = "TRAIT"
)

// The one condition of this API, and its reasons.
const (
	ConditionSynced = "Synced"

	ReasonReconcileSuccess = "ReconcileSuccess"
	ReasonReconcileError   = "ReconcileError"
)

// TypedReference names an object in the namespace of the referring object.
type TypedReference struct {
	// +kubebuilder:validation:MaxLength=320
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the object.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// Condition is a condition without observedGeneration, which the status has beside the conditions.
type Condition struct {
	// +kubebuilder:validation:MaxLength=316
	Type   string                 `json:"type"`
	Status metav1.ConditionStatus `json:"status"`
	// LastTransitionTime is when Status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// ConditionedStatus is the part of the status that all kinds with a status have.
type ConditionedStatus struct {
	// Conditions has the condition Synced.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []Condition `json:"conditions,omitempty"`
}
