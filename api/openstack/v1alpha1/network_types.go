package v1alpha1

// NetworkFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type NetworkFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// External tells whether a Router can use the network as its gateway.
	// +optional
	External *bool `json:"external,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// NetworkResourceSpec is the desired state of a network.
//
// +kubebuilder:validation:XValidation:rule="has(self.dnsDomain) == has(oldSelf.dnsDomain) && has(self.availabilityZoneHints) == has(oldSelf.availabilityZoneHints) && has(self.projectRef) == has(oldSelf.projectRef)",message="dnsDomain, availabilityZoneHints and projectRef can't be added or removed: immutable"
type NetworkResourceSpec struct {
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
	// AdminStateUp tells whether the network carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// DNSDomain is the DNS domain of the names of the network's ports.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dnsDomain is immutable"
	DNSDomain *DNSDomain `json:"dnsDomain,omitempty"`
	// MTU is the size of the largest packet.
	// +optional
	MTU *MTU `json:"mtu,omitempty"`
	// PortSecurityEnabled is the port security that ports of the network inherit.
	// +optional
	PortSecurityEnabled *bool `json:"portSecurityEnabled,omitempty"`
	// External tells whether a Router can use the network as its gateway.
	// +optional
	External *bool `json:"external,omitempty"`
	// Shared lets every project use the resource.
	// +optional
	Shared *bool `json:"shared,omitempty"`
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

// NetworkResourceStatus is the state of a network that OpenStack last reported. The values are not
// validated.
type NetworkResourceStatus struct {
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
	// Status of the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// AdminStateUp tells whether the network carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// AvailabilityZoneHints are the zones where the resource should be placed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
	// DNSDomain is the DNS domain of the names of the network's ports.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DNSDomain string `json:"dnsDomain,omitempty"`
	// MTU is the size of the largest packet.
	// +optional
	MTU *int32 `json:"mtu"`
	// PortSecurityEnabled is the port security that ports of the network inherit.
	// +optional
	PortSecurityEnabled *bool `json:"portSecurityEnabled"`
	// External tells whether a Router can use the network as its gateway.
	// +optional
	External *bool `json:"external"`
	// Shared lets every project use the resource.
	// +optional
	Shared *bool `json:"shared"`
	// Provider is how the network is realised on the provider's side.
	// +optional
	Provider *ProviderPropertiesStatus `json:"provider,omitempty"`
	// Subnets are the ids of its subnets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Subnets []string `json:"subnets,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// ProviderPropertiesStatus is how a network is realised.
type ProviderPropertiesStatus struct {
	// NetworkType is the technology of the network, such as vxlan.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkType string `json:"networkType"`
	// PhysicalNetwork that the network is realised on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PhysicalNetwork string `json:"physicalNetwork"`
	// SegmentationID of the network on the PhysicalNetwork, such as a VLAN id.
	// +optional
	SegmentationID *int32 `json:"segmentationID,omitempty"`
}
