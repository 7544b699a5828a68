package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// ShareNetwork is the network that shares are reached from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type ShareNetwork struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ShareNetworkSpec `json:"spec"`
	// +optional
	Status ShareNetworkStatus `json:"status,omitempty"`
}

// ShareNetworkList is a list of ShareNetwork objects.
//
// +kubebuilder:object:root=true
type ShareNetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ShareNetwork `json:"items"`
}

// ShareNetworkSpec describes a share network: the desired state in Resource, or an existing
// resource in Import.
type ShareNetworkSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *ShareNetworkImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *ShareNetworkImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *ShareNetworkResourceSpec `json:"resource,omitempty"`
}

// ShareNetworkImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ShareNetworkImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *ShareNetworkFilter `json:"filter,omitempty"`
}

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

// ShareNetworkStatus is the observed state of a share network.
type ShareNetworkStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *ShareNetworkResourceStatus `json:"resource,omitempty"`
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

// GetCommonSpec returns what all kinds have in common.
func (s *ShareNetwork) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *ShareNetwork) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *ShareNetwork) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &s.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *ShareNetwork) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *ShareNetwork) GetFilter() *ShareNetworkFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *ShareNetwork) GetResource() *ShareNetworkResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *ShareNetwork) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
