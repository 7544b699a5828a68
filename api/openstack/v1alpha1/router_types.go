package v1alpha1

// RouterFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type RouterFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// RouterResourceSpec is the desired state of a router.
//
// +kubebuilder:validation:XValidation:rule="has(self.externalGateways) == has(oldSelf.externalGateways) && has(self.distributed) == has(oldSelf.distributed) && has(self.availabilityZoneHints) == has(oldSelf.availabilityZoneHints) && has(self.projectRef) == has(oldSelf.projectRef)",message="externalGateways, distributed, availabilityZoneHints and projectRef can't be added or removed: immutable"
type RouterResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// AdminStateUp tells whether the router routes traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// ExternalGateways are the external networks that the router leads to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="externalGateways is immutable"
	ExternalGateways []ExternalGateway `json:"externalGateways,omitempty"`
	// Distributed tells whether the router runs on every host.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="distributed is immutable"
	Distributed *bool `json:"distributed,omitempty"`
	// AvailabilityZoneHints are the zones where the resource should be placed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZoneHints is immutable"
	AvailabilityZoneHints []AvailabilityZoneHint `json:"availabilityZoneHints,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// ExternalGateway is an external network that a router leads to.
type ExternalGateway struct {
	// NetworkRef names the Network.
	NetworkRef KubernetesNameRef `json:"networkRef"`
}

// RouterResourceStatus is the state of a router that OpenStack last reported. The values are not
// validated.
type RouterResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Status of the router.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// AdminStateUp tells whether the router routes traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// ExternalGateways are the external networks that the router leads to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExternalGateways []ExternalGatewayStatus `json:"externalGateways,omitempty"`
	// AvailabilityZoneHints are the zones where the resource should be placed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
}

// ExternalGatewayStatus is an external network that a router leads to.
type ExternalGatewayStatus struct {
	// NetworkID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkID string `json:"networkID"`
}
