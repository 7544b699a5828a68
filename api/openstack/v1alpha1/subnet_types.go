package v1alpha1

// SubnetFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type SubnetFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *IPVersion `json:"ipVersion,omitempty"`
	// GatewayIP is the address of the gateway.
	// +optional
	GatewayIP *IPvAny `json:"gatewayIP,omitempty"`
	// CIDR is the address range.
	// +optional
	CIDR *CIDR `json:"cidr,omitempty"`
	// IPv6 configures how hosts get IPv6 addresses.
	// +optional
	IPv6 *IPv6Options `json:"ipv6,omitempty"`
	// NetworkRef names the Network.
	// +optional
	NetworkRef *KubernetesNameRef `json:"networkRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// SubnetResourceSpec is the desired state of a subnet.
//
// +kubebuilder:validation:XValidation:rule="has(self.dnsPublishFixedIP) == has(oldSelf.dnsPublishFixedIP) && has(self.ipv6) == has(oldSelf.ipv6) && has(self.routerRef) == has(oldSelf.routerRef) && has(self.projectRef) == has(oldSelf.projectRef)",message="dnsPublishFixedIP, ipv6, routerRef and projectRef can't be added or removed: immutable"
type SubnetResourceSpec struct {
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
	// NetworkRef names the Network.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	NetworkRef KubernetesNameRef `json:"networkRef"`
	// IPVersion of the addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipVersion is immutable"
	IPVersion IPVersion `json:"ipVersion"`
	// CIDR is the address range.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cidr is immutable"
	CIDR CIDR `json:"cidr"`
	// AllocationPools are the ranges of the CIDR that addresses are allocated from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	AllocationPools []AllocationPool `json:"allocationPools,omitempty"`
	// Gateway of the subnet.
	// +optional
	Gateway *SubnetGateway `json:"gateway,omitempty"`
	// EnableDHCP tells whether DHCP gives hosts their addresses.
	// +optional
	EnableDHCP *bool `json:"enableDHCP,omitempty"`
	// DNSNameservers that DHCP announces to hosts.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	DNSNameservers []IPvAny `json:"dnsNameservers,omitempty"`
	// DNSPublishFixedIP tells whether fixed IPs are published in the DNS.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dnsPublishFixedIP is immutable"
	DNSPublishFixedIP *bool `json:"dnsPublishFixedIP,omitempty"`
	// HostRoutes that DHCP announces to hosts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	HostRoutes []HostRoute `json:"hostRoutes,omitempty"`
	// IPv6 configures how hosts get IPv6 addresses.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipv6 is immutable"
	IPv6 *IPv6Options `json:"ipv6,omitempty"`
	// RouterRef names the Router that the subnet is connected to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="routerRef is immutable"
	RouterRef *KubernetesNameRef `json:"routerRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// AllocationPool is a range of addresses.
type AllocationPool struct {
	// Start is the first address.
	Start IPvAny `json:"start"`
	// End is the last address.
	End IPvAny `json:"end"`
}

// HostRoute is a route that DHCP announces to hosts.
type HostRoute struct {
	// Destination is the CIDR that the route leads to.
	Destination CIDR `json:"destination"`
	// NextHop is the address that the route goes through.
	NextHop IPvAny `json:"nextHop"`
}

// SubnetGateway chooses the gateway of a subnet.
type SubnetGateway struct {
	// Type tells how the gateway is chosen.
	Type SubnetGatewayType `json:"type"`
	// IP is the address, if type is IP.
	// +optional
	IP *IPvAny `json:"ip,omitempty"`
}

// IPv6Options configures how hosts get IPv6 addresses.
//
// +kubebuilder:validation:MinProperties=1
type IPv6Options struct {
	// AddressMode is how hosts get IPv6 addresses.
	// +optional
	AddressMode *IPv6AddressMode `json:"addressMode,omitempty"`
	// RAMode is how IPv6 routers are advertised.
	// +optional
	RAMode *IPv6RAMode `json:"raMode,omitempty"`
}

// SubnetResourceStatus is the state of a subnet that OpenStack last reported. The values are not
// validated.
type SubnetResourceStatus struct {
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
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *int32 `json:"ipVersion"`
	// CIDR is the address range.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CIDR string `json:"cidr"`
	// GatewayIP is the address of the gateway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	GatewayIP string `json:"gatewayIP"`
	// DNSNameservers that DHCP announces to hosts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	DNSNameservers []string `json:"dnsNameservers,omitempty"`
	// DNSPublishFixedIP tells whether fixed IPs are published in the DNS.
	// +optional
	DNSPublishFixedIP *bool `json:"dnsPublishFixedIP"`
	// AllocationPools are the ranges of the CIDR that addresses are allocated from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AllocationPools []AllocationPoolStatus `json:"allocationPools,omitempty"`
	// HostRoutes that DHCP announces to hosts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	HostRoutes []HostRouteStatus `json:"hostRoutes,omitempty"`
	// IPv6AddressMode is how hosts get IPv6 addresses.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPv6AddressMode string `json:"ipv6AddressMode,omitempty"`
	// IPv6RAMode is how IPv6 routers are advertised.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPv6RAMode string `json:"ipv6RAMode,omitempty"`
	// EnableDHCP tells whether DHCP gives hosts their addresses.
	// +optional
	EnableDHCP *bool `json:"enableDHCP"`
	// NetworkID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkID string `json:"networkID"`
	// SubnetPoolID is the subnet pool that CIDR is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubnetPoolID string `json:"subnetPoolID,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// AllocationPoolStatus is a range of addresses.
type AllocationPoolStatus struct {
	// Start is the first address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Start string `json:"start"`
	// End is the last address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	End string `json:"end"`
}

// HostRouteStatus is a route that DHCP announces to hosts.
type HostRouteStatus struct {
	// Destination is the CIDR that the route leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Destination string `json:"destination"`
	// NextHop is the address that the route goes through.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NextHop string `json:"nextHop"`
}
