package v1alpha1

// ServiceFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServiceFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Type of the service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Type *string `json:"type,omitempty"`
}

// ServiceResourceSpec is the desired state of a service.
type ServiceResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Type of the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Type string `json:"type"`
	// Enabled tells whether the resource can be used.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
}

// ServiceResourceStatus is the state of a service that OpenStack last reported. The values are not
// validated.
type ServiceResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource. Empty if OpenStack reports an empty description, left out if
	// OpenStack reports none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description *string `json:"description,omitempty"`
	// Type of the service.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
}
