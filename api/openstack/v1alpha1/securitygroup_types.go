package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// SecurityGroup is a group of rules for the traffic of Ports. Its rules are authoritative: a rule
// that is not listed is removed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type SecurityGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SecurityGroupSpec `json:"spec"`
	// +optional
	Status SecurityGroupStatus `json:"status,omitempty"`
}

// SecurityGroupList is a list of SecurityGroup objects.
//
// +kubebuilder:object:root=true
type SecurityGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SecurityGroup `json:"items"`
}

// SecurityGroupSpec describes a security group: the desired state in Resource, or an existing
// resource in Import.
type SecurityGroupSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *SecurityGroupImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *SecurityGroupImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *SecurityGroupResourceSpec `json:"resource,omitempty"`
}

// SecurityGroupImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type SecurityGroupImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *SecurityGroupFilter `json:"filter,omitempty"`
}

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

// SecurityGroupStatus is the observed state of a security group.
type SecurityGroupStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *SecurityGroupResourceStatus `json:"resource,omitempty"`
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

// GetCommonSpec returns what all kinds have in common.
func (s *SecurityGroup) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *SecurityGroup) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *SecurityGroup) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &s.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *SecurityGroup) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *SecurityGroup) GetFilter() *SecurityGroupFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *SecurityGroup) GetResource() *SecurityGroupResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *SecurityGroup) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
