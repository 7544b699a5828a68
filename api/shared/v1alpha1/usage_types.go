package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// UsageSpec says which object is used, and by whom or why.
//
// Source: seed 3, section "API".
//
// +kubebuilder:validation:XValidation:rule="has(self.by) || has(self.reason)",message="either \"spec.by\" or \"spec.reason\" must be specified."
type UsageSpec struct {
	// Of is the resource that is used, and may not be deleted while it is.
	// +kubebuilder:validation:XValidation:rule="has(self.resourceRef) || has(self.resourceSelector)",message="either a resource reference or a resource selector should be set."
	Of Resource `json:"of"`
	// By is the resource that uses the other one. Without it the used resource is
	// protected for as long as the Usage exists.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.resourceRef) || has(self.resourceSelector)",message="either a resource reference or a resource selector should be set."
	By *Resource `json:"by,omitempty"`
	// Reason says why the resource is protected. Required without by.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason *string `json:"reason,omitempty"`
	// ReplayDeletion asks that a deletion which was refused because of this Usage
	// is carried out as soon as nothing uses the resource any more.
	// +optional
	ReplayDeletion *bool `json:"replayDeletion,omitempty"`
}

// Resource names an object, or selects one or many, of one kind.
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
	// ResourceRef names the resource. Filled in when a selector is resolved.
	// +optional
	ResourceRef *ResourceRef `json:"resourceRef,omitempty"`
	// ResourceSelector selects the resource. Resolved once, into resourceRef,
	// unless it says matchAll.
	// +optional
	ResourceSelector *ResourceSelector `json:"resourceSelector,omitempty"`
}

// ResourceRef names an object of a kind given elsewhere.
type ResourceRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '.' && self != '..' && !self.contains('/') && !self.contains('%')",message="no object can have this name: it is . or .. or has / or % in it."
	Name string `json:"name"`
	// Namespace of the object. Defaults to the namespace of the Usage; a
	// cluster-scoped Usage must give it for objects that live in one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// ResourceSelector selects objects of a kind given elsewhere.
//
// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchControllerRef) && self.matchControllerRef)",message="an empty selector would match everything: give matchLabels or set matchControllerRef."
type ResourceSelector struct {
	// MatchLabels are labels that the object must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchControllerRef asks that the object has the same controller owner as the
	// Usage, which is how objects of one composition find each other.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`
	// MatchAll makes the selector stand for every object that matches it at any
	// time, instead of the one chosen when the Usage was created.
	// +optional
	MatchAll *bool `json:"matchAll,omitempty"`
	// Namespace to select in. Defaults as the namespace of resourceRef does.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// UsageStatus is what is known of a Usage.
type UsageStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// -1 before the first look, so that no tool takes silence for readiness.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the Usage: Ready and Effective.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Using is the very object that the protection is held for: when it is gone,
	// so is the protection, also when another one takes its name.
	// +optional
	Using *BoundObject `json:"using,omitempty"`
	// Refused are deletions of used objects that were refused and are to be replayed
	// once nothing uses the object any more: at most one of each object.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Refused []RefusedDeletion `json:"refused,omitempty"`
}

// BoundObject is one particular object, not whichever has its name.
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
	// Namespace of the object, empty for cluster-scoped ones.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// UID of the object.
	UID types.UID `json:"uid"`
}

// RefusedDeletion records a DELETE request that admission refused, so that it can
// be carried out later: to the same object, with the rights that the one who
// asked has then, as far as his name and groups decide about them.
type RefusedDeletion struct {
	// Target is the object whose deletion was refused.
	Target BoundObject `json:"target"`
	// PropagationPolicy of the refused request. Empty if it had none.
	// +optional
	// +kubebuilder:validation:Enum=Background;Foreground;Orphan
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
	// User who asked.
	// +kubebuilder:validation:MaxLength=1024
	User string `json:"user"`
	// Groups of that user, as far as they decide about rights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Groups []string `json:"groups,omitempty"`
	// Time of the first refusal.
	Time metav1.Time `json:"time"`
}
