package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ShareNetworkFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ShareNetworkFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
}

// ShareNetworkResourceSpec is the desired state of a share network.
//
// +kubebuilder:validation:XValidation:rule="has(self.networkRef) == has(self.subnetRef)",message="networkRef and subnetRef must be specified together"
// +kubebuilder:validation:XValidation:rule="has(self.networkRef) == has(oldSelf.networkRef) && has(self.subnetRef) == has(oldSelf.subnetRef)",message="networkRef and subnetRef can't be added or removed: immutable"
type ShareNetworkResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// NetworkRef names the Network.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="networkRef is immutable"
	NetworkRef *KubernetesNameRef `json:"networkRef,omitempty"`
	// SubnetRef names the Subnet.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="subnetRef is immutable"
	SubnetRef *KubernetesNameRef `json:"subnetRef,omitempty"`
}

// ShareNetworkResourceStatus is the state of a share network that OpenStack last reported. The
// values are not validated.
type ShareNetworkResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// NeutronNetID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NeutronNetID string `json:"neutronNetID,omitempty"`
	// NeutronSubnetID is the subnet.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NeutronSubnetID string `json:"neutronSubnetID,omitempty"`
	// NetworkType is the technology of the network, such as vxlan.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkType string `json:"networkType,omitempty"`
	// SegmentationID of the network, such as a VLAN id.
	// +optional
	SegmentationID *int32 `json:"segmentationID,omitempty"`
	// CIDR is the address range.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CIDR string `json:"cidr"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *int32 `json:"ipVersion,omitempty"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID,omitempty"`
	// CreatedAt is when the resource was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// UpdatedAt is when the resource was last changed.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
}
