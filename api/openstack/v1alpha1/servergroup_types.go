package v1alpha1

// ServerGroupFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServerGroupFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
}

// ServerGroupResourceSpec is the desired state of a server group.
//
// +kubebuilder:validation:XValidation:rule="has(self.rules) && self.rules.maxServerPerHost > 0 ? self.policy == 'anti-affinity' : true",message="maxServerPerHost can only be used with the anti-affinity policy"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ServerGroupResourceSpec is immutable"
type ServerGroupResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Policy is the rule: affinity, anti-affinity or a soft variant.
	// +kubebuilder:validation:Enum=affinity;anti-affinity;soft-affinity;soft-anti-affinity
	Policy string `json:"policy"`
	// Rules are the parameters of Policy.
	// +optional
	Rules *ServerGroupRules `json:"rules,omitempty"`
}

// ServerGroupRules are the parameters of Policy.
type ServerGroupRules struct {
	// MaxServerPerHost is the maximum number of servers on a host.
	// +optional
	MaxServerPerHost int32 `json:"maxServerPerHost,omitempty"`
}

// ServerGroupResourceStatus is the state of a server group that OpenStack last reported. The values
// are not validated.
type ServerGroupResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Policy is the rule: affinity, anti-affinity or a soft variant.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Policy string `json:"policy"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// UserID is the user that created the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserID string `json:"userID"`
	// Rules are the parameters of Policy.
	// +optional
	Rules *ServerGroupRulesStatus `json:"rules,omitempty"`
}

// ServerGroupRulesStatus are the parameters of Policy.
type ServerGroupRulesStatus struct {
	// MaxServerPerHost is the maximum number of servers on a host.
	// +optional
	MaxServerPerHost *int32 `json:"maxServerPerHost"`
}
