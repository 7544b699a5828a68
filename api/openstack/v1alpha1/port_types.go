package v1alpha1

// PortFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type PortFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// MacAddress is the hardware address of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	MacAddress *string `json:"macAddress,omitempty"`
	// NetworkRef names the Network.
	// +optional
	NetworkRef *KubernetesNameRef `json:"networkRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// PortResourceSpec is the desired state of a port.
//
// +kubebuilder:validation:XValidation:rule="has(self.portSecurity) && self.portSecurity == 'Disabled' ? !has(self.securityGroupRefs) : true",message="securityGroupRefs must be empty when portSecurity is set to Disabled"
// +kubebuilder:validation:XValidation:rule="has(self.portSecurity) && self.portSecurity == 'Disabled' ? !has(self.allowedAddressPairs) : true",message="allowedAddressPairs must be empty when portSecurity is set to Disabled"
// +kubebuilder:validation:XValidation:rule="has(self.addresses) == has(oldSelf.addresses) && has(self.projectRef) == has(oldSelf.projectRef) && has(self.hostID) == has(oldSelf.hostID) && has(self.propagateUplinkStatus) == has(oldSelf.propagateUplinkStatus) && has(self.valueSpecs) == has(oldSelf.valueSpecs) && has(self.macAddress) == has(oldSelf.macAddress)",message="addresses, projectRef, hostID, propagateUplinkStatus, valueSpecs and macAddress can't be added or removed: immutable"
type PortResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// NetworkRef names the Network.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	NetworkRef KubernetesNameRef `json:"networkRef"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// AllowedAddressPairs are addresses that the port may send from besides its own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AllowedAddressPairs []AllowedAddressPair `json:"allowedAddressPairs,omitempty"`
	// Addresses of the port.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="addresses is immutable"
	Addresses []Address `json:"addresses,omitempty"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	// +kubebuilder:default=true
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// SecurityGroupRefs name the SecurityGroups that the port belongs to.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	SecurityGroupRefs []KubernetesNameRef `json:"securityGroupRefs,omitempty"`
	// VnicType is the type of interface that the port is bound as.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VnicType *string `json:"vnicType,omitempty"`
	// PortSecurity tells whether OpenStack checks the sender addresses.
	// +optional
	// +kubebuilder:default=Inherit
	// +kubebuilder:validation:XValidation:rule="!(oldSelf != 'Inherit' && self == 'Inherit')",message="portSecurity cannot be changed to Inherit"
	PortSecurity PortSecurityState `json:"portSecurity,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// MacAddress is the hardware address of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="macAddress is immutable"
	MacAddress *string `json:"macAddress,omitempty"`
	// HostID is the host that the port is bound to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="hostID is immutable"
	HostID *HostID `json:"hostID,omitempty"`
	// PropagateUplinkStatus makes the port follow the state of its uplink.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="propagateUplinkStatus is immutable"
	PropagateUplinkStatus *bool `json:"propagateUplinkStatus,omitempty"`
	// TrustedVIF lets the guest change the interface of the port.
	// +optional
	TrustedVIF *bool `json:"trustedVIF,omitempty"`
	// ValueSpecs are sent to the network service unchanged.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="valueSpecs is immutable"
	ValueSpecs []PortValueSpec `json:"valueSpecs,omitempty"`
}

// Address is an address in a Subnet.
type Address struct {
	// IP is the address. OpenStack chooses an address when the field is empty.
	// +optional
	IP *IPvAny `json:"ip,omitempty"`
	// SubnetRef names the Subnet.
	SubnetRef KubernetesNameRef `json:"subnetRef"`
}

// AllowedAddressPair is an address that a port may send from.
type AllowedAddressPair struct {
	// IP is the address.
	IP IPvAny `json:"ip"`
	// MAC is the hardware address. Defaults to the MAC of the port.
	// +optional
	MAC *MAC `json:"mac,omitempty"`
}

// HostID names a host.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.id) && size(self.id) > 0) != (has(self.serverRef) && size(self.serverRef) > 0)",message="exactly one of id or serverRef must be set"
type HostID struct {
	// ID of the host.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id,omitempty"`
	// ServerRef names a Server: the port is bound to the host of that Server.
	// +optional
	ServerRef *KubernetesNameRef `json:"serverRef,omitempty"`
}

// PortValueSpec is a setting that only some drivers know.
type PortValueSpec struct {
	// Key of the setting.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
	// Value of the setting.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// PortResourceStatus is the state of a port that OpenStack last reported. The values are not
// validated.
type PortResourceStatus struct {
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
	// NetworkID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkID string `json:"networkID"`
	// Status of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// MacAddress is the hardware address of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MacAddress string `json:"macAddress"`
	// DeviceID is the id of the resource that uses the port, such as a server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DeviceID string `json:"deviceID,omitempty"`
	// DeviceOwner is the type of the resource that uses the port, such as network:router_interface.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DeviceOwner string `json:"deviceOwner,omitempty"`
	// AllowedAddressPairs are addresses that the port may send from besides its own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AllowedAddressPairs []AllowedAddressPairStatus `json:"allowedAddressPairs,omitempty"`
	// FixedIPs are the addresses of the port.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	FixedIPs []FixedIPStatus `json:"fixedIPs,omitempty"`
	// SecurityGroups are the ids of the security groups that the port belongs to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	SecurityGroups []string `json:"securityGroups,omitempty"`
	// PropagateUplinkStatus makes the port follow the state of its uplink.
	// +optional
	PropagateUplinkStatus *bool `json:"propagateUplinkStatus"`
	// VnicType is the type of interface.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	VnicType string `json:"vnicType"`
	// PortSecurityEnabled tells whether OpenStack checks the sender addresses.
	// +optional
	PortSecurityEnabled *bool `json:"portSecurityEnabled"`
	// HostID is the host that the port is bound to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	HostID string `json:"hostID,omitempty"`
	// TrustedVIF lets the guest change the interface of the port.
	// +optional
	TrustedVIF *bool `json:"trustedVIF,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// AllowedAddressPairStatus is an address that a port may send from.
type AllowedAddressPairStatus struct {
	// IP is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IP string `json:"ip"`
	// MAC is the hardware address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MAC string `json:"mac"`
}

// FixedIPStatus is an address of a port.
type FixedIPStatus struct {
	// IP is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IP string `json:"ip"`
	// SubnetID is the subnet that the address is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID"`
}
