package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReferenceGrant lets objects of other namespaces refer to objects in the namespace of the
// ReferenceGrant. RBAC decides which users may create a ReferenceGrant there.
//
// The shape is that of Gateway API's kind of the same name (GEP-709).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=kgrant,categories=kinship
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ReferenceGrant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ReferenceGrantSpec `json:"spec"`
}

// ReferenceGrantSpec lets every object that spec.from matches refer to every object that spec.to
// matches.
type ReferenceGrantSpec struct {
	// From lists the kinds and namespaces of objects that may refer.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	From []ReferenceGrantFrom `json:"from"`
	// To lists the objects that may be referred to, in the namespace of the ReferenceGrant.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	To []ReferenceGrantTo `json:"to"`
}

// ReferenceGrantFrom is a kind of object in a namespace.
type ReferenceGrantFrom struct {
	// Group of the kind, empty for the core group.
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind that may refer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace that the referring object lives in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// ReferenceGrantTo is a kind, or a single object of the kind.
type ReferenceGrantTo struct {
	// Group of the kind, empty for the core group.
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind that may be referred to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of a single object. Without a name all objects of the kind are meant.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name *string `json:"name,omitempty"`
}

// ReferenceGrantList is a list of ReferenceGrant objects.
//
// +kubebuilder:object:root=true
type ReferenceGrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ReferenceGrant `json:"items"`
}
