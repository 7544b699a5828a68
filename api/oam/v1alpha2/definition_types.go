package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefinitionReference names a CustomResourceDefinition.
type DefinitionReference struct {
	// Name of the CustomResourceDefinition, such as mydbs.standard.oam.dev.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Version of the kind. Defaults to the first version that is served.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
}

// ChildResourceKind is a kind of objects that the controller of a workload creates.
type ChildResourceKind struct {
	// +kubebuilder:validation:MaxLength=320
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Selector are labels that the children have.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Selector map[string]string `json:"selector,omitempty"`
}

// WorkloadDefinitionSpec says what a kind of workloads is.
//
// Fields of later runtimes of this API version, such as schematic, are kept and have no effect here.
// +kubebuilder:pruning:PreserveUnknownFields
type WorkloadDefinitionSpec struct {
	// Reference names the CustomResourceDefinition of the workloads.
	Reference DefinitionReference `json:"definitionRef"`
	// ChildResourceKinds are the kinds of objects that the controller of the workload creates.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ChildResourceKinds []ChildResourceKind `json:"childResourceKinds,omitempty"`
	// RevisionLabel is a label of Pods with the revision.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	RevisionLabel string `json:"revisionLabel,omitempty"`
	// PodSpecPath is the path of the Pod's spec in a workload.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PodSpecPath string `json:"podSpecPath,omitempty"`
	// Extension is for other tools.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// WorkloadDefinition registers a kind of workloads. Its name is the name of the
// CustomResourceDefinition of the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories={crossplane,oam}
// +kubebuilder:printcolumn:name="DEFINITION-NAME",type=string,JSONPath=".spec.definitionRef.name"
type WorkloadDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkloadDefinitionSpec `json:"spec,omitempty"`
}

// WorkloadDefinitionList is a list of WorkloadDefinitions.
//
// +kubebuilder:object:root=true
type WorkloadDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkloadDefinition `json:"items"`
}

// TraitDefinitionSpec says what a kind of traits is.
//
// Fields of later runtimes of this API version, such as schematic, are kept and have no effect here.
// +kubebuilder:pruning:PreserveUnknownFields
type TraitDefinitionSpec struct {
	// Reference names the CustomResourceDefinition of the traits.
	Reference DefinitionReference `json:"definitionRef"`
	// RevisionEnabled has each revision of a component make a workload of its own.
	// +optional
	RevisionEnabled bool `json:"revisionEnabled,omitempty"`
	// WorkloadRefPath is the path of the field that takes the reference to the workload, such as
	// spec.workloadRef. Without a path, no reference is written.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	WorkloadRefPath string `json:"workloadRefPath,omitempty"`
	// AppliesToWorkloads are the workloads that the trait can be applied to: names of
	// WorkloadDefinitions or CustomResourceDefinitions, kinds such as
	// core.oam.dev/v1alpha2.ContainerizedWorkload, groups such as *.core.oam.dev, or "*". Empty means
	// all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=512
	AppliesToWorkloads []string `json:"appliesToWorkloads,omitempty"`
	// Extension is for other tools.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// TraitDefinition registers a kind of traits. Its name is the name of the CustomResourceDefinition of
// the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories={crossplane,oam}
// +kubebuilder:printcolumn:name="DEFINITION-NAME",type=string,JSONPath=".spec.definitionRef.name"
type TraitDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TraitDefinitionSpec `json:"spec,omitempty"`
}

// TraitDefinitionList is a list of TraitDefinitions.
//
// +kubebuilder:object:root=true
type TraitDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TraitDefinition `json:"items"`
}

// ScopeDefinitionSpec says what a kind of scopes is.
//
// Fields of later runtimes of this API version, such as schematic, are kept and have no effect here.
// +kubebuilder:pruning:PreserveUnknownFields
type ScopeDefinitionSpec struct {
	// Reference names the CustomResourceDefinition of the scopes.
	Reference DefinitionReference `json:"definitionRef"`
	// WorkloadRefsPath is the path of the list that takes the references to workloads, such as
	// spec.workloadRefs. Without a path, no reference is written.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	WorkloadRefsPath string `json:"workloadRefsPath,omitempty"`
	// AllowComponentOverlap says whether a component can be in several scopes of the kind.
	AllowComponentOverlap bool `json:"allowComponentOverlap"`
	// Extension is for other tools.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// ScopeDefinition registers a kind of scopes. Its name is the name of the CustomResourceDefinition of
// the kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories={crossplane,oam}
// +kubebuilder:printcolumn:name="DEFINITION-NAME",type=string,JSONPath=".spec.definitionRef.name"
type ScopeDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ScopeDefinitionSpec `json:"spec,omitempty"`
}

// ScopeDefinitionList is a list of ScopeDefinitions.
//
// +kubebuilder:object:root=true
type ScopeDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScopeDefinition `json:"items"`
}
