package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// UsageSpec names the used object in Of, and the using object in By or a Reason.
//
// +kubebuilder:validation:XValidation:rule="has(self.by) || has(self.reason)",message="either \"spec.by\" or \"spec.reason\" must be specified."
type UsageSpec struct {
	// Of is the used resource. The API server refuses its deletion while it is in use.
	// +kubebuilder:validation:XValidation:rule="has(self.resourceRef) || has(self.resourceSelector)",message="either a resource reference or a resource selector should be set."
	Of Resource `json:"of"`
	// By is the using resource. Without by the resource in of is protected as long as the Usage
	// exists.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.resourceRef) || has(self.resourceSelector)",message="either a resource reference or a resource selector should be set."
	By *Resource `json:"by,omitempty"`
	// Reason says why the resource is protected. Required without by.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason *string `json:"reason,omitempty"`
	// ReplayDeletion makes the operator repeat a deletion that this Usage refused, as soon as no
	// Usage protects the resource any more.
	// +optional
	ReplayDeletion *bool `json:"replayDeletion,omitempty"`
}

// Resource names an object of a kind in ResourceRef, or selects objects by ResourceSelector.
type Resource struct {
	// APIVersion is the group and version of the resource's kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z][-a-z0-9]*$`
	APIVersion string `json:"apiVersion"`
	// Kind of the resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// ResourceRef names the resource. The operator fills in the name when resourceSelector is
	// resolved.
	// +optional
	ResourceRef *ResourceRef `json:"resourceRef,omitempty"`
	// ResourceSelector selects the resource. The selector is resolved once, into resourceRef,
	// unless matchAll is true.
	// +optional
	ResourceSelector *ResourceSelector `json:"resourceSelector,omitempty"`
}

// ResourceRef names an object of the kind in apiVersion and kind.
type ResourceRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '.' && self != '..' && !self.contains('/') && !self.contains('%')",message="no object can have this name: it is . or .. or has / or % in it."
	Name string `json:"name"`
	// Namespace of the object. Defaults to the namespace of the Usage. A ClusterUsage must give the
	// namespace of a namespaced object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// ResourceSelector selects objects of the kind in apiVersion and kind.
//
// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchControllerRef) && self.matchControllerRef)",message="an empty selector would match everything: give matchLabels or set matchControllerRef."
type ResourceSelector struct {
	// MatchLabels are labels that the object must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchControllerRef selects objects with the same controller owner as the Usage, such as the
	// objects of a composition.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`
	// MatchAll makes the Usage protect every object that matches at any time, instead of a single
	// object chosen when the Usage was created.
	// +optional
	MatchAll *bool `json:"matchAll,omitempty"`
	// Namespace to select in. Has the same default as resourceRef.namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// UsageStatus is the observed state of a Usage or ClusterUsage.
type UsageStatus struct {
	// ObservedGeneration is the metadata.generation that the status describes. -1 means that the
	// operator has not seen the object yet, so that no tool takes an empty status for Ready.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the Usage: Ready and Effective.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Using is the object that the Usage protects for, by uid. When that object is gone the
	// protection ends, even if another object takes the name.
	// +optional
	Using *BoundObject `json:"using,omitempty"`
	// Refused lists the refused deletions, at most one per object, that the operator repeats once
	// the object is no longer in use.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Refused []RefusedDeletion `json:"refused,omitempty"`
}

// BoundObject is an object with its uid: another object of the same name is not meant.
type BoundObject struct {
	// Group of the object's kind, empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind of the object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace of the object, empty if cluster-scoped.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// UID of the object.
	UID types.UID `json:"uid"`
}

// RefusedDeletion records a DELETE request that admission refused. The operator repeats the request
// later for the same uid, if User and Groups may delete the object at that time.
type RefusedDeletion struct {
	// Target is the object whose deletion was refused.
	Target BoundObject `json:"target"`
	// PropagationPolicy of the refused request. Empty if the request had no policy.
	// +optional
	// +kubebuilder:validation:Enum=Background;Foreground;Orphan
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
	// User of the refused request.
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user"`
	// Groups of User that can have rights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Groups []string `json:"groups,omitempty"`
	// Time of the first refusal.
	Time metav1.Time `json:"time"`
}
