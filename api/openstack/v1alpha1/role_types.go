package v1alpha1

// RoleFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type RoleFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleResourceSpec is the desired state of a role.
//
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
type RoleResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domainRef is immutable"
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleResourceStatus is the state of a role that OpenStack last reported. The values are not
// validated.
type RoleResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// DomainID is the domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID"`
}
