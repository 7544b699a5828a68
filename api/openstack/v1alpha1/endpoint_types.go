package v1alpha1

// EndpointFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type EndpointFilter struct {
	// Interface is the audience of the endpoint: admin, internal or public.
	// +optional
	// +kubebuilder:validation:Enum=admin;internal;public
	Interface *string `json:"interface,omitempty"`
	// ServiceRef names the Service.
	// +optional
	ServiceRef *KubernetesNameRef `json:"serviceRef,omitempty"`
	// URL is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL *string `json:"url,omitempty"`
}

// EndpointResourceSpec is the desired state of an endpoint.
//
// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description)",message="description can't be added or removed: immutable"
type EndpointResourceSpec struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="description is immutable"
	Description *OpenStackDescription `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interface is the audience of the endpoint: admin, internal or public.
	// +kubebuilder:validation:Enum=admin;internal;public
	Interface string `json:"interface"`
	// URL is the address.
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// ServiceRef names the Service.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceRef is immutable"
	ServiceRef KubernetesNameRef `json:"serviceRef"`
}

// EndpointResourceStatus is the state of an endpoint that OpenStack last reported. The values are
// not validated.
type EndpointResourceStatus struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
	// Interface is the audience of the endpoint: admin, internal or public.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Interface string `json:"interface"`
	// ServiceID is the service.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ServiceID string `json:"serviceID"`
	// URL is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
}
