package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagementPolicy says what may be done to a resource outside Kubernetes.
//
// +kubebuilder:validation:Enum=managed;unmanaged
// +kubebuilder:validation:MaxLength=16
type ManagementPolicy string

// OnDelete says what becomes of a managed resource when its object is deleted.
//
// +kubebuilder:validation:Enum=delete;detach
// +kubebuilder:validation:MaxLength=16
type OnDelete string

const (
	// PolicyManaged resources are created, changed and deleted with their object.
	PolicyManaged ManagementPolicy = "managed"
	// PolicyUnmanaged resources are only looked at.
	PolicyUnmanaged ManagementPolicy = "unmanaged"

	// OnDeleteDelete deletes the resource.
	OnDeleteDelete OnDelete = "delete"
	// OnDeleteDetach leaves the resource as it is.
	OnDeleteDetach OnDelete = "detach"
)

// ManagedOptions are options of managed resources.
type ManagedOptions struct {
	// OnDelete says what becomes of the resource when the object is deleted.
	// +optional
	// +kubebuilder:default=delete
	OnDelete OnDelete `json:"onDelete,omitempty"`
}

// ExternalSpec is what every object says of its resource outside Kubernetes.
type ExternalSpec struct {
	// ManagementPolicy says what may be done to the resource.
	// +optional
	// +kubebuilder:default=managed
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementPolicy is immutable"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
	// ManagedOptions are options of managed resources.
	// +optional
	ManagedOptions *ManagedOptions `json:"managedOptions,omitempty"`
	// ResyncPeriod is how often the resource is compared with the spec. 0s switches
	// that off; left out, the operator's default applies.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="type(duration(self)) == google.protobuf.Duration",message="give a duration such as 90s, 10m or 1h30m"
	ResyncPeriod *metav1.Duration `json:"resyncPeriod,omitempty"`
}

// ExternalStatus is what is known of every resource outside Kubernetes.
type ExternalStatus struct {
	// Conditions are Available and Progressing, and Ready and Drifted where the operator
	// was started with an option for them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ID of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID *string `json:"id,omitempty"`
	// Place is where the resource is, such as a project of a cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Place string `json:"place,omitempty"`
	// LastSyncTime is when the resource was last seen to be as it should be.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// ObservedDependencies are the ids that references stood for when they were last
	// used.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2048
	ObservedDependencies []ObservedDependency `json:"observedDependencies,omitempty"`
	// Drift lists the fields of the resource that differ from the spec and can't be
	// changed. It is empty while there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Drift []string `json:"drift,omitempty"`
}

// AnonymousStatus is what is known of resources outside Kubernetes that have no id:
// an ExternalStatus, field by field, whose id is in memory alone. Its object tells
// what its resource is known by.
type AnonymousStatus struct {
	// Conditions are Available and Progressing, and Ready and Drifted where the operator
	// was started with an option for them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ID of the resource, as it is computed.
	ID *string `json:"-"`
	// Place is where the resource is, such as a project of a cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Place string `json:"place,omitempty"`
	// LastSyncTime is when the resource was last seen to be as it should be.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// ObservedDependencies are the ids that references stood for when they were last
	// used.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2048
	ObservedDependencies []ObservedDependency `json:"observedDependencies,omitempty"`
	// Drift lists the fields of the resource that differ from the spec and can't be
	// changed. It is empty while there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Drift []string `json:"drift,omitempty"`
}

// ObservedDependency is the id that a reference stood for.
type ObservedDependency struct {
	// Kind of the object referred to.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object referred to.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ID of its resource, or the version of its content where that is what is used.
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
}
