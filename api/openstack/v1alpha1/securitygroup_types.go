package v1alpha1

// SecurityGroupFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type SecurityGroupFilter struct {
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

// SecurityGroupResourceSpec is the desired state of a security group.
//
// +kubebuilder:validation:XValidation:rule="has(self.stateful) == has(oldSelf.stateful) && has(self.projectRef) == has(oldSelf.projectRef)",message="stateful and projectRef can't be added or removed: immutable"
type SecurityGroupResourceSpec struct {
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
	// Stateful tells whether answers to allowed traffic are let through.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="stateful is immutable"
	Stateful *bool `json:"stateful,omitempty"`
	// Rules of the security group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Rules []SecurityGroupRule `json:"rules,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// SecurityGroupRule allows the matching traffic.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(!has(self.portRange)|| !(self.protocol == 'tcp'|| self.protocol == 'udp' || self.protocol == 'dccp' || self.protocol == 'sctp' || self.protocol == 'udplite') || (self.portRange.min <= self.portRange.max))",message="portRangeMax should be equal or greater than portRange.min"
// +kubebuilder:validation:XValidation:rule="!(self.protocol == 'icmp' || self.protocol == 'icmpv6') || !has(self.portRange)|| (self.portRange.min >= 0 && self.portRange.min <= 255)",message="When protocol is ICMP or ICMPv6 portRange.min should be between 0 and 255"
// +kubebuilder:validation:XValidation:rule="!(self.protocol == 'icmp' || self.protocol == 'icmpv6') || !has(self.portRange)|| (self.portRange.max >= 0 && self.portRange.max <= 255)",message="When protocol is ICMP or ICMPv6 portRange.max should be between 0 and 255"
// +kubebuilder:validation:XValidation:rule="!has(self.remoteIPPrefix) || !has(self.remoteGroupRef)",message="give either remoteIPPrefix or remoteGroupRef, not both"
type SecurityGroupRule struct {
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// Direction of the traffic.
	// +optional
	Direction *RuleDirection `json:"direction,omitempty"`
	// RemoteIPPrefix is the address range of the other side, as a CIDR.
	// +optional
	RemoteIPPrefix *CIDR `json:"remoteIPPrefix,omitempty"`
	// RemoteGroupRef names the SecurityGroup of the ports on the other side. A SecurityGroup may
	// name itself.
	// +optional
	RemoteGroupRef *KubernetesNameRef `json:"remoteGroupRef,omitempty"`
	// Protocol of the traffic.
	// +optional
	Protocol *Protocol `json:"protocol,omitempty"`
	// Ethertype of the traffic.
	Ethertype Ethertype `json:"ethertype"`
	// PortRange is the range of ports, or type and code of ICMP.
	// +optional
	PortRange *PortRangeSpec `json:"portRange,omitempty"`
}

// PortRangeSpec is a range of ports.
type PortRangeSpec struct {
	// Min is the first port.
	Min PortNumber `json:"min"`
	// Max is the last port.
	Max PortNumber `json:"max"`
}

// SecurityGroupResourceStatus is the state of a security group that OpenStack last reported. The
// values are not validated.
type SecurityGroupResourceStatus struct {
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
	// Stateful tells whether answers to allowed traffic are let through.
	// +optional
	Stateful *bool `json:"stateful"`
	// Rules of the security group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Rules []SecurityGroupRuleStatus `json:"rules,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// SecurityGroupRuleStatus allows the matching traffic.
type SecurityGroupRuleStatus struct {
	// ID of the rule.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description"`
	// Direction of the traffic.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Direction string `json:"direction"`
	// RemoteGroupID is the security group of the ports on the other side.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RemoteGroupID string `json:"remoteGroupID"`
	// RemoteIPPrefix is the address range of the other side, as a CIDR.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RemoteIPPrefix string `json:"remoteIPPrefix"`
	// Protocol of the traffic.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Protocol string `json:"protocol"`
	// Ethertype of the traffic.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Ethertype string `json:"ethertype"`
	// PortRange is the range of ports.
	// +optional
	PortRange *PortRangeStatus `json:"portRange,omitempty"`
}

// PortRangeStatus is a range of ports.
type PortRangeStatus struct {
	// Min is the first port.
	// +optional
	Min int32 `json:"min"`
	// Max is the last port.
	// +optional
	Max int32 `json:"max"`
}
