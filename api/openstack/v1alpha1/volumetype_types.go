package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// VolumeType is a sort of volumes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type VolumeType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VolumeTypeSpec `json:"spec"`
	// +optional
	Status VolumeTypeStatus `json:"status,omitempty"`
}

// VolumeTypeList is a list of VolumeType objects.
//
// +kubebuilder:object:root=true
type VolumeTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VolumeType `json:"items"`
}

// VolumeTypeSpec describes a volume type: the desired state in Resource, or an existing resource in
// Import.
type VolumeTypeSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *VolumeTypeImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *VolumeTypeImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *VolumeTypeResourceSpec `json:"resource,omitempty"`
}

// VolumeTypeImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type VolumeTypeImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *VolumeTypeFilter `json:"filter,omitempty"`
}

// VolumeTypeFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type VolumeTypeFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// IsPublic tells whether all projects may use the volume type.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeResourceSpec is the desired state of a volume type.
type VolumeTypeResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// ExtraSpecs choose and configure the storage backend of the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ExtraSpecs []VolumeTypeExtraSpec `json:"extraSpecs,omitempty"`
	// IsPublic tells whether all projects may use the volume type. Defaults to true.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeExtraSpec is a key-value pair for the storage backend.
type VolumeTypeExtraSpec struct {
	// Name of the pair.
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Value of the pair.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// VolumeTypeStatus is the observed state of a volume type.
type VolumeTypeStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *VolumeTypeResourceStatus `json:"resource,omitempty"`
}

// VolumeTypeResourceStatus is the state of a volume type that OpenStack last reported. The values
// are not validated.
type VolumeTypeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// ExtraSpecs choose and configure the storage backend of the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExtraSpecs []VolumeTypeExtraSpecStatus `json:"extraSpecs,omitempty"`
	// IsPublic tells whether all projects may use the volume type.
	// +optional
	IsPublic *bool `json:"isPublic"`
}

// VolumeTypeExtraSpecStatus is a key-value pair for the storage backend.
type VolumeTypeExtraSpecStatus struct {
	// Name of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Value of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// GetCommonSpec returns what all kinds have in common.
func (v *VolumeType) GetCommonSpec() *CommonSpec { return &v.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (v *VolumeType) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &v.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (v *VolumeType) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &v.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (v *VolumeType) GetImport() (id string, asked bool) {
	i := cmp.Or(v.Spec.Import, v.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (v *VolumeType) GetFilter() *VolumeTypeFilter {
	if i := cmp.Or(v.Spec.Import, v.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (v *VolumeType) GetResource() *VolumeTypeResourceSpec { return v.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (v *VolumeType) GetResourceName() string {
	if r := v.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return v.Name
}
