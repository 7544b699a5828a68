package v1alpha1

// TrunkFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type TrunkFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// PortRef names the Port.
	// +optional
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// TrunkResourceSpec is the desired state of a trunk.
//
// +kubebuilder:validation:XValidation:rule="has(self.projectRef) == has(oldSelf.projectRef)",message="projectRef can't be added or removed: immutable"
type TrunkResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// PortRef names the Port.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="portRef is immutable"
	PortRef KubernetesNameRef `json:"portRef"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// Subports of the trunk: ports with a SegmentationID.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Subports []TrunkSubport `json:"subports,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// TrunkSubport is a port of a trunk, with a SegmentationID.
type TrunkSubport struct {
	// PortRef names the Port.
	PortRef KubernetesNameRef `json:"portRef"`
	// SegmentationID separates the traffic of the subport from other traffic, such as a VLAN id.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	SegmentationID int32 `json:"segmentationID"`
	// SegmentationType is the meaning of SegmentationID, such as vlan.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Enum=inherit;vlan
	SegmentationType string `json:"segmentationType"`
}

// TrunkResourceStatus is the state of a trunk that OpenStack last reported. The values are not
// validated.
type TrunkResourceStatus struct {
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
	// PortID is the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// Status of the trunk.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// AdminStateUp tells whether the resource carries traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// Subports of the trunk: ports with a SegmentationID.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Subports []TrunkSubportStatus `json:"subports,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// TrunkSubportStatus is a port of a trunk, with a SegmentationID.
type TrunkSubportStatus struct {
	// PortID is the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// SegmentationID separates the traffic of the subport from other traffic, such as a VLAN id.
	// +optional
	SegmentationID *int32 `json:"segmentationID"`
	// SegmentationType is the meaning of SegmentationID, such as vlan.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SegmentationType string `json:"segmentationType"`
}
