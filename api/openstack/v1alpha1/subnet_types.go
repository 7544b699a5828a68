package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Subnet is an address range of a Network.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Subnet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SubnetSpec `json:"spec"`
	// +optional
	Status SubnetStatus `json:"status,omitempty"`
}

// SubnetList is a list of Subnet objects.
//
// +kubebuilder:object:root=true
type SubnetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Subnet `json:"items"`
}

// SubnetSpec says what an address range of a Network should be, or which one is
// meant.
type SubnetSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *SubnetImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *SubnetImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
	// +optional
	Resource *SubnetResourceSpec `json:"resource,omitempty"`
}

// SubnetImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type SubnetImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that exactly one resource matches.
	// +optional
	Filter *SubnetFilter `json:"filter,omitempty"`
}

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
	// GatewayIP is the gateway.
	// +optional
	GatewayIP *IPvAny `json:"gatewayIP,omitempty"`
	// CIDR is the address range.
	// +optional
	CIDR *CIDR `json:"cidr,omitempty"`
	// IPv6 says how hosts get addresses.
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

// SubnetResourceSpec says what an address range of a Network should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.dnsPublishFixedIP) == has(oldSelf.dnsPublishFixedIP) && has(self.ipv6) == has(oldSelf.ipv6) && has(self.routerRef) == has(oldSelf.routerRef) && has(self.projectRef) == has(oldSelf.projectRef)",message="dnsPublishFixedIP, ipv6, routerRef and projectRef can't be added or removed: immutable"
type SubnetResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
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
	// AllocationPools are the parts that addresses are given from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	AllocationPools []AllocationPool `json:"allocationPools,omitempty"`
	// Gateway says which address is the gateway.
	// +optional
	Gateway *SubnetGateway `json:"gateway,omitempty"`
	// EnableDHCP says whether hosts are told their addresses.
	// +optional
	EnableDHCP *bool `json:"enableDHCP,omitempty"`
	// DNSNameservers that hosts are told of.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	DNSNameservers []IPvAny `json:"dnsNameservers,omitempty"`
	// DNSPublishFixedIP says whether addresses get names.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dnsPublishFixedIP is immutable"
	DNSPublishFixedIP *bool `json:"dnsPublishFixedIP,omitempty"`
	// HostRoutes that hosts are told of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	HostRoutes []HostRoute `json:"hostRoutes,omitempty"`
	// IPv6 says how hosts get addresses.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipv6 is immutable"
	IPv6 *IPv6Options `json:"ipv6,omitempty"`
	// RouterRef names the Router that the subnet is connected to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="routerRef is immutable"
	RouterRef *KubernetesNameRef `json:"routerRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Left out, it is that
	// of the credentials.
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

// HostRoute is a route that hosts are told of.
type HostRoute struct {
	// Destination that the route leads to.
	Destination CIDR `json:"destination"`
	// NextHop is where it begins.
	NextHop IPvAny `json:"nextHop"`
}

// SubnetGateway says which address is the gateway.
type SubnetGateway struct {
	// Type says who chooses the gateway.
	Type SubnetGatewayType `json:"type"`
	// IP is the address, if type is IP.
	// +optional
	IP *IPvAny `json:"ip,omitempty"`
}

// IPv6Options says how addresses are given to hosts.
//
// +kubebuilder:validation:MinProperties=1
type IPv6Options struct {
	// AddressMode says how hosts get addresses.
	// +optional
	AddressMode *IPv6AddressMode `json:"addressMode,omitempty"`
	// RAMode says who advertises the router.
	// +optional
	RAMode *IPv6RAMode `json:"raMode,omitempty"`
}

// SubnetStatus is what is known of an address range of a Network.
type SubnetStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *SubnetResourceStatus `json:"resource,omitempty"`
}

// SubnetResourceStatus is an address range of a Network as OpenStack last
// described it. Nothing of it is validated.
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
	// GatewayIP is the gateway.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	GatewayIP string `json:"gatewayIP"`
	// DNSNameservers that hosts are told of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	DNSNameservers []string `json:"dnsNameservers,omitempty"`
	// DNSPublishFixedIP says whether addresses get names.
	// +optional
	DNSPublishFixedIP *bool `json:"dnsPublishFixedIP"`
	// AllocationPools are the parts that addresses are given from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AllocationPools []AllocationPoolStatus `json:"allocationPools,omitempty"`
	// HostRoutes that hosts are told of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	HostRoutes []HostRouteStatus `json:"hostRoutes,omitempty"`
	// IPv6AddressMode says how hosts get addresses.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPv6AddressMode string `json:"ipv6AddressMode,omitempty"`
	// IPv6RAMode says who advertises the router.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPv6RAMode string `json:"ipv6RAMode,omitempty"`
	// EnableDHCP says whether hosts are told their addresses.
	// +optional
	EnableDHCP *bool `json:"enableDHCP"`
	// NetworkID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkID string `json:"networkID"`
	// SubnetPoolID is where the range comes from.
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

// HostRouteStatus is a route that hosts are told of.
type HostRouteStatus struct {
	// Destination that the route leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Destination string `json:"destination"`
	// NextHop is where it begins.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NextHop string `json:"nextHop"`
}

// GetCommonSpec returns what all kinds have in common.
func (s *Subnet) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *Subnet) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *Subnet) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &s.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *Subnet) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *Subnet) GetFilter() *SubnetFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *Subnet) GetResource() *SubnetResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *Subnet) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
