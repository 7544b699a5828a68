package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ApplicationConfigurationSpec is a list of components.
type ApplicationConfigurationSpec struct {
	// +kubebuilder:validation:MaxItems=256
	Components []ApplicationConfigurationComponent `json:"components"`
}

// ApplicationConfigurationComponent is one component of an application. Exactly one of ComponentName
// and RevisionName is set.
type ApplicationConfigurationComponent struct {
	// ComponentName names a Component, whose present spec is used.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComponentName string `json:"componentName,omitempty"`
	// RevisionName names a ControllerRevision of a Component.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RevisionName string `json:"revisionName,omitempty"`
	// DataOutputs are fields of the workload that other objects of the application use.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DataOutputs []DataOutput `json:"dataOutputs,omitempty"`
	// DataInputs are fields of the workload that get values of other objects.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DataInputs []DataInput `json:"dataInputs,omitempty"`
	// ParameterValues are values for parameters of the Component.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	ParameterValues []ComponentParameterValue `json:"parameterValues,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Traits []ComponentTrait `json:"traits,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Scopes []ComponentScope `json:"scopes,omitempty"`
}

// ComponentParameterValue is a value for a parameter.
type ComponentParameterValue struct {
	// +kubebuilder:validation:MaxLength=253
	Name  string             `json:"name"`
	Value intstr.IntOrString `json:"value"`
}

// ComponentTrait is a trait of a component.
type ComponentTrait struct {
	// Trait is an object of any kind.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Trait runtime.RawExtension `json:"trait"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DataOutputs []DataOutput `json:"dataOutputs,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DataInputs []DataInput `json:"dataInputs,omitempty"`
}

// ComponentScope is a scope of a component.
type ComponentScope struct {
	// ScopeReference names an object that exists.
	ScopeReference TypedReference `json:"scopeRef"`
}

// DataOutput is a field whose value DataInputs use by name.
type DataOutput struct {
	// Name is unique in the ApplicationConfiguration.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath,omitempty"`
	// Conditions say when the value can be used.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Conditions []ConditionRequirement `json:"conditions,omitempty"`
	// OutputStore is an object that gets the value.
	// +optional
	OutputStore StoreReference `json:"outputStore,omitempty"`
}

// DataInput is a value that an object waits for.
type DataInput struct {
	// +optional
	ValueFrom DataInputValueFrom `json:"valueFrom,omitempty"`
	// ToFieldPaths are the fields that get the value.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	ToFieldPaths []string `json:"toFieldPaths,omitempty"`
	// Conditions are about the object that gets the value.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Conditions []ConditionRequirement `json:"conditions,omitempty"`
	// InputStore is an object whose operations must be ready.
	// +optional
	InputStore StoreReference `json:"inputStore,omitempty"`
}

// DataInputValueFrom names the DataOutput with the value.
type DataInputValueFrom struct {
	// +kubebuilder:validation:MaxLength=253
	DataOutputName string `json:"dataOutputName"`
}

// StoreReference names an object and the operations on it.
type StoreReference struct {
	TypedReference `json:",inline"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Operations []DataOperation `json:"operations,omitempty"`
}

// DataOperation changes an object in a store.
type DataOperation struct {
	// Type is jsonPatch.
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type"`
	// Operator is add, delete or replace.
	// +kubebuilder:validation:MaxLength=63
	Operator string `json:"op"`
	// +kubebuilder:validation:MaxLength=1024
	ToFieldPath string `json:"toFieldPath"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ToDataPath string `json:"toDataPath,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value string `json:"value,omitempty"`
	// +optional
	ValueFrom ValueFrom `json:"valueFrom,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Conditions []ConditionRequirement `json:"conditions,omitempty"`
}

// ValueFrom is a value of a field of the source.
type ValueFrom struct {
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath"`
}

// ConditionOperator compares two values.
type ConditionOperator string

// The operators of a ConditionRequirement.
const (
	ConditionEqual    ConditionOperator = "eq"
	ConditionNotEqual ConditionOperator = "notEq"
	ConditionNotEmpty ConditionOperator = "notEmpty"
)

// ConditionRequirement is a condition on a value.
type ConditionRequirement struct {
	// +kubebuilder:validation:MaxLength=63
	Operator ConditionOperator `json:"op"`
	// Value to compare with.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value string `json:"value,omitempty"`
	// ValueFrom is a field of the ApplicationConfiguration to compare with.
	// +optional
	ValueFrom ValueFrom `json:"valueFrom,omitempty"`
	// FieldPath is the field of the source. Empty means the value itself.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath,omitempty"`
}

// ApplicationConfigurationStatus is the observed state of an application.
type ApplicationConfigurationStatus struct {
	ConditionedStatus `json:",inline"`
	// Status is for other controllers.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Status string `json:"status,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Dependency has the data inputs that wait.
	// +optional
	Dependency DependencyStatus `json:"dependency,omitempty"`
	// Workloads are the workloads of the application, with their traits and scopes.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	Workloads []WorkloadStatus `json:"workloads,omitempty"`
	// HistoryWorkloads are workloads of earlier revisions that still exist.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	HistoryWorkloads []HistoryWorkload `json:"historyWorkloads,omitempty"`
}

// WorkloadStatus is the state of a workload.
type WorkloadStatus struct {
	// Status is for other controllers.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Status string `json:"status,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComponentName string `json:"componentName,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComponentRevisionName string `json:"componentRevisionName,omitempty"`
	// Reference names the workload.
	// +optional
	Reference TypedReference `json:"workloadRef,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Traits []WorkloadTrait `json:"traits,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Scopes []WorkloadScope `json:"scopes,omitempty"`
}

// WorkloadTrait is the state of a trait.
type WorkloadTrait struct {
	// Status is for other controllers.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Status string `json:"status,omitempty"`
	// Reference names the trait.
	Reference TypedReference `json:"traitRef"`
	// Message says what is missing, such as the TraitDefinition.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// WorkloadScope is the state of a scope.
type WorkloadScope struct {
	// Status is for other controllers.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Status string `json:"status,omitempty"`
	// Reference names the scope.
	Reference TypedReference `json:"scopeRef"`
}

// HistoryWorkload is a workload of an earlier revision.
type HistoryWorkload struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
	// +optional
	Reference TypedReference `json:"workloadRef,omitempty"`
}

// DependencyStatus has the data inputs that wait.
type DependencyStatus struct {
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	Unsatisfied []UnsatisfiedDependency `json:"unsatisfied,omitempty"`
}

// UnsatisfiedDependency is a data input that waits.
type UnsatisfiedDependency struct {
	// Reason says why the value can't be used yet.
	// +kubebuilder:validation:MaxLength=32768
	Reason string `json:"reason"`
	// From is the source of the value.
	From DependencyFromObject `json:"from"`
	// To is the object that waits.
	To DependencyToObject `json:"to"`
}

// DependencyFromObject is the field of an object.
type DependencyFromObject struct {
	TypedReference `json:",inline"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath,omitempty"`
}

// DependencyToObject are fields of an object.
type DependencyToObject struct {
	TypedReference `json:",inline"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	FieldPaths []string `json:"fieldPaths,omitempty"`
}

// ApplicationConfiguration renders Components into workloads, with traits and scopes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=appconfig,categories={crossplane,oam}
type ApplicationConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ApplicationConfigurationSpec   `json:"spec,omitempty"`
	Status ApplicationConfigurationStatus `json:"status,omitempty"`
}

// ApplicationConfigurationList is a list of ApplicationConfigurations.
//
// +kubebuilder:object:root=true
type ApplicationConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationConfiguration `json:"items"`
}
