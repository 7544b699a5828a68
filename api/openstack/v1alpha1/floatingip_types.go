package v1alpha1

// FloatingIPFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type FloatingIPFilter struct {
	// FloatingIP is the address.
	// +optional
	FloatingIP *IPvAny `json:"floatingIP,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// FloatingNetworkRef names the external Network that the address is from.
	// +optional
	FloatingNetworkRef *KubernetesNameRef `json:"floatingNetworkRef,omitempty"`
	// PortRef names the Port that the floating IP leads to.
	// +optional
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// Status of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status *string `json:"status,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// FloatingIPResourceSpec is the desired state of a floating IP.
//
// +kubebuilder:validation:XValidation:rule="has(self.floatingNetworkRef) != has(self.floatingSubnetRef)",message="Exactly one of 'floatingNetworkRef' or 'floatingSubnetRef' must be set"
// +kubebuilder:validation:XValidation:rule="has(self.floatingNetworkRef) == has(oldSelf.floatingNetworkRef) && has(self.floatingSubnetRef) == has(oldSelf.floatingSubnetRef) && has(self.floatingIP) == has(oldSelf.floatingIP) && has(self.portRef) == has(oldSelf.portRef) && has(self.fixedIP) == has(oldSelf.fixedIP) && has(self.projectRef) == has(oldSelf.projectRef)",message="floatingNetworkRef, floatingSubnetRef, floatingIP, portRef, fixedIP and projectRef can't be added or removed: immutable"
type FloatingIPResourceSpec struct {
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// FloatingNetworkRef names the external Network that the address is from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingNetworkRef is immutable"
	FloatingNetworkRef *KubernetesNameRef `json:"floatingNetworkRef,omitempty"`
	// FloatingSubnetRef names the Subnet that the address is from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingSubnetRef is immutable"
	FloatingSubnetRef *KubernetesNameRef `json:"floatingSubnetRef,omitempty"`
	// FloatingIP is the address. OpenStack chooses an address when the field is empty.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingIP is immutable"
	FloatingIP *IPvAny `json:"floatingIP,omitempty"`
	// PortRef names the Port that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="portRef is immutable"
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
	// FixedIP is the address of the Port in PortRef that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fixedIP is immutable"
	FixedIP *IPvAny `json:"fixedIP,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// FloatingIPResourceStatus is the state of a floating IP that OpenStack last reported. The values
// are not validated.
type FloatingIPResourceStatus struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// FloatingNetworkID is the network that the address is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FloatingNetworkID string `json:"floatingNetworkID"`
	// FloatingIP is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FloatingIP string `json:"floatingIP"`
	// PortID is the port that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// FixedIP is the address that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FixedIP string `json:"fixedIP"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Status of the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// RouterID is the router that the floating IP leads through.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RouterID string `json:"routerID"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}
