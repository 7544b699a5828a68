package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagementPolicy tells whether the operator may change a resource outside Kubernetes.
//
// +kubebuilder:validation:Enum=managed;unmanaged
// +kubebuilder:validation:MaxLength=16
type ManagementPolicy string

// OnDelete tells whether a managed resource is deleted with its object.
//
// +kubebuilder:validation:Enum=delete;detach
// +kubebuilder:validation:MaxLength=16
type OnDelete string

const (
	// PolicyManaged creates, changes and deletes the resource with its object.
	PolicyManaged ManagementPolicy = "managed"
	// PolicyUnmanaged only reads the resource.
	PolicyUnmanaged ManagementPolicy = "unmanaged"

	// OnDeleteDelete deletes the resource with its object.
	OnDeleteDelete OnDelete = "delete"
	// OnDeleteDetach keeps the resource when its object is deleted.
	OnDeleteDetach OnDelete = "detach"
)

// ManagedOptions are options of managed resources.
type ManagedOptions struct {
	// OnDelete tells whether the resource is deleted with the object.
	// +optional
	// +kubebuilder:default=delete
	OnDelete OnDelete `json:"onDelete,omitempty"`
}

// ExternalSpec has the fields that every object with a resource outside Kubernetes has in its spec.
type ExternalSpec struct {
	// ManagementPolicy tells whether the operator may change the resource.
	// +optional
	// +kubebuilder:default=managed
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementPolicy is immutable"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
	// ManagedOptions are options of managed resources.
	// +optional
	ManagedOptions *ManagedOptions `json:"managedOptions,omitempty"`
	// ResyncPeriod is how often the resource is compared with the spec. 0s switches the comparison
	// off. Defaults to the period that the operator is started with.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="type(duration(self)) == google.protobuf.Duration",message="give a duration such as 90s, 10m or 1h30m"
	ResyncPeriod *metav1.Duration `json:"resyncPeriod,omitempty"`
}

// ExternalStatus has the fields that every object with a resource outside Kubernetes has in its
// status.
type ExternalStatus struct {
	// Conditions are Available and Progressing, and also Ready and Drifted if the operator is
	// started with an option for these.
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
	// LastSyncTime is when the resource was last seen to match the spec.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// ObservedDependencies are the ids that references resolved to when the operator last used
	// them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2048
	ObservedDependencies []ObservedDependency `json:"observedDependencies,omitempty"`
	// Drift lists the fields of the resource that differ from the spec and can't be changed. Drift
	// is empty while no such field differs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Drift []string `json:"drift,omitempty"`
}

// AnonymousStatus is the ExternalStatus of a resource without an id, such as a RoleAssignment. The
// fields equal those of ExternalStatus, but ID is computed and kept in memory only. GetIdentity of
// the object returns the identity.
type AnonymousStatus struct {
	// Conditions are Available and Progressing, and also Ready and Drifted if the operator is
	// started with an option for these.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ID of the resource, computed by GetIdentity.
	ID *string `json:"-"`
	// Place is where the resource is, such as a project of a cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Place string `json:"place,omitempty"`
	// LastSyncTime is when the resource was last seen to match the spec.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// ObservedDependencies are the ids that references resolved to when the operator last used
	// them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2048
	ObservedDependencies []ObservedDependency `json:"observedDependencies,omitempty"`
	// Drift lists the fields of the resource that differ from the spec and can't be changed. Drift
	// is empty while no such field differs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Drift []string `json:"drift,omitempty"`
}

// ObservedDependency is the id that a reference resolved to.
type ObservedDependency struct {
	// Group of the referenced object. Several groups may have a kind of one name. Empty for a Secret,
	// and in a status that an earlier version of the operator wrote.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`
	// Kind of the referenced object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the referenced object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ID of the referenced object's resource. For a Secret: the version of the content.
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
}
