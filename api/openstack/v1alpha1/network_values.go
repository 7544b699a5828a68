package v1alpha1

// SubnetGatewayType tells how the gateway of a Subnet is chosen.
//
// +kubebuilder:validation:Enum=None;Automatic;IP
// +kubebuilder:validation:MaxLength=16
type SubnetGatewayType string

const (
	// GatewayNone leaves the Subnet without a gateway.
	GatewayNone SubnetGatewayType = "None"
	// GatewayAutomatic leaves the choice to the network service.
	GatewayAutomatic SubnetGatewayType = "Automatic"
	// GatewayIP takes the address in spec.resource.gateway.ip.
	GatewayIP SubnetGatewayType = "IP"
)

// IPv6AddressMode is how hosts get IPv6 addresses.
//
// +kubebuilder:validation:Enum=slaac;dhcpv6-stateful;dhcpv6-stateless
// +kubebuilder:validation:MaxLength=32
type IPv6AddressMode string

// IPv6RAMode is how IPv6 routers are advertised.
//
// +kubebuilder:validation:Enum=slaac;dhcpv6-stateful;dhcpv6-stateless
// +kubebuilder:validation:MaxLength=32
type IPv6RAMode string

// PortSecurityState tells whether OpenStack checks the sender addresses of a Port.
//
// +kubebuilder:validation:Enum=Enabled;Disabled;Inherit
// +kubebuilder:validation:MaxLength=16
type PortSecurityState string

const (
	// PortSecurityEnabled checks addresses.
	PortSecurityEnabled PortSecurityState = "Enabled"
	// PortSecurityDisabled checks nothing.
	PortSecurityDisabled PortSecurityState = "Disabled"
	// PortSecurityInherit takes over the setting of the network.
	PortSecurityInherit PortSecurityState = "Inherit"
)

// RuleDirection is the direction of traffic: ingress or egress.
//
// +kubebuilder:validation:Enum=ingress;egress
// +kubebuilder:validation:MaxLength=16
type RuleDirection string

// Ethertype is IPv4 or IPv6.
//
// +kubebuilder:validation:Enum=IPv4;IPv6
// +kubebuilder:validation:MaxLength=16
type Ethertype string

// Protocol is a protocol on top of IP, such as tcp or icmp.
//
// +kubebuilder:validation:Enum=ah;dccp;egp;esp;gre;icmp;icmpv6;igmp;ipip;ipv6-encap;ipv6-frag;ipv6-icmp;ipv6-nonxt;ipv6-opts;ipv6-route;ospf;pgm;rsvp;sctp;tcp;udp;udplite;vrrp
// +kubebuilder:validation:MaxLength=32
type Protocol string

// FilterByKeystoneTags finds projects by their tags.
type FilterByKeystoneTags struct {
	// Tags matches resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	Tags []KeystoneTag `json:"tags,omitempty"`
	// TagsAny matches resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	TagsAny []KeystoneTag `json:"tagsAny,omitempty"`
	// NotTags leaves out resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	NotTags []KeystoneTag `json:"notTags,omitempty"`
	// NotTagsAny leaves out resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	NotTagsAny []KeystoneTag `json:"notTagsAny,omitempty"`
}
