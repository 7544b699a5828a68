package v1alpha1

// SubnetGatewayType says who chooses a gateway.
//
// +kubebuilder:validation:Enum=None;Automatic;IP
// +kubebuilder:validation:MaxLength=16
type SubnetGatewayType string

const (
	// GatewayNone has no gateway.
	GatewayNone SubnetGatewayType = "None"
	// GatewayAutomatic leaves the choice to the network service.
	GatewayAutomatic SubnetGatewayType = "Automatic"
	// GatewayIP is an address that is given.
	GatewayIP SubnetGatewayType = "IP"
)

// IPv6AddressMode says how hosts get addresses.
//
// +kubebuilder:validation:Enum=slaac;dhcpv6-stateful;dhcpv6-stateless
// +kubebuilder:validation:MaxLength=32
type IPv6AddressMode string

// IPv6RAMode says who advertises the router, and how.
//
// +kubebuilder:validation:Enum=slaac;dhcpv6-stateful;dhcpv6-stateless
// +kubebuilder:validation:MaxLength=32
type IPv6RAMode string

// PortSecurityState says whether addresses are checked.
//
// +kubebuilder:validation:Enum=Enabled;Disabled;Inherit
// +kubebuilder:validation:MaxLength=16
type PortSecurityState string

const (
	// PortSecurityEnabled checks addresses.
	PortSecurityEnabled PortSecurityState = "Enabled"
	// PortSecurityDisabled checks nothing.
	PortSecurityDisabled PortSecurityState = "Disabled"
	// PortSecurityInherit does as the network says.
	PortSecurityInherit PortSecurityState = "Inherit"
)

// RuleDirection is the direction of traffic.
//
// +kubebuilder:validation:Enum=ingress;egress
// +kubebuilder:validation:MaxLength=16
type RuleDirection string

// Ethertype is a version of the internet protocol, as rules call it.
//
// +kubebuilder:validation:Enum=IPv4;IPv6
// +kubebuilder:validation:MaxLength=16
type Ethertype string

// Protocol is a protocol on top of the internet protocol.
//
// +kubebuilder:validation:Enum=ah;dccp;egp;esp;gre;icmp;icmpv6;igmp;ipip;ipv6-encap;ipv6-frag;ipv6-icmp;ipv6-nonxt;ipv6-opts;ipv6-route;ospf;pgm;rsvp;sctp;tcp;udp;udplite;vrrp
// +kubebuilder:validation:MaxLength=32
type Protocol string

// FilterByKeystoneTags finds projects by their tags.
type FilterByKeystoneTags struct {
	// Tags that a resource must have, all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	Tags []KeystoneTag `json:"tags,omitempty"`
	// TagsAny are tags of which a resource must have at least one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	TagsAny []KeystoneTag `json:"tagsAny,omitempty"`
	// NotTags are tags that a resource may have in part, but not all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	NotTags []KeystoneTag `json:"notTags,omitempty"`
	// NotTagsAny are tags of which a resource may have none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	NotTagsAny []KeystoneTag `json:"notTagsAny,omitempty"`
}
