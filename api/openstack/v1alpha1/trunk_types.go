package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Trunk is a port that carries the traffic of other ports.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Trunk struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrunkSpec `json:"spec"`
	// +optional
	Status TrunkStatus `json:"status,omitempty"`
}

// TrunkList is a list of Trunk objects.
//
// +kubebuilder:object:root=true
type TrunkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Trunk `json:"items"`
}

// TrunkSpec describes a trunk: the desired state in Resource, or an existing resource in Import.
type TrunkSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *TrunkImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *TrunkImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *TrunkResourceSpec `json:"resource,omitempty"`
}

// TrunkImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type TrunkImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *TrunkFilter `json:"filter,omitempty"`
}

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

// TrunkStatus is the observed state of a trunk.
type TrunkStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *TrunkResourceStatus `json:"resource,omitempty"`
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

// GetCommonSpec returns what all kinds have in common.
func (t *Trunk) GetCommonSpec() *CommonSpec { return &t.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (t *Trunk) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &t.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (t *Trunk) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &t.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (t *Trunk) GetImport() (id string, asked bool) {
	i := cmp.Or(t.Spec.Import, t.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (t *Trunk) GetFilter() *TrunkFilter {
	if i := cmp.Or(t.Spec.Import, t.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (t *Trunk) GetResource() *TrunkResourceSpec { return t.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (t *Trunk) GetResourceName() string {
	if r := t.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return t.Name
}
