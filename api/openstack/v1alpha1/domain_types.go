package v1alpha1

// DomainFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type DomainFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// DomainResourceSpec is the desired state of a domain.
type DomainResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// DomainResourceStatus is the state of a domain that OpenStack last reported. The values are not
// validated.
type DomainResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
}
