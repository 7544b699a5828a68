package v1alpha1

// ProjectFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ProjectFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// DomainRef names the Domain that the project belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`

	FilterByKeystoneTags `json:",inline"`
}

// ProjectResourceSpec is the desired state of a project.
//
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
type ProjectResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65535
	Description *string `json:"description,omitempty"`
	// DomainRef names the Domain that the project belongs to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domainRef is immutable"
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	Tags []KeystoneTag `json:"tags,omitempty"`
}

// ProjectResourceStatus is the state of a project that OpenStack last reported. The values are not
// validated.
type ProjectResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=65535
	Description string `json:"description,omitempty"`
	// DomainID is the domain that the project belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
}
