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

// VolumeTypeSpec says what a sort of volumes should be, or which one is meant.
type VolumeTypeSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *VolumeTypeImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *VolumeTypeImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
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
	// Filter that exactly one resource matches.
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
	// IsPublic says whether all projects may use it.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeResourceSpec says what a sort of volumes should be.
type VolumeTypeResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// ExtraSpecs choose and instruct what keeps the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ExtraSpecs []VolumeTypeExtraSpec `json:"extraSpecs,omitempty"`
	// IsPublic says whether all projects may use it. Left out, they may.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeExtraSpec is an instruction to what keeps the volumes.
type VolumeTypeExtraSpec struct {
	// Name of the pair.
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Value of the pair.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// VolumeTypeStatus is what is known of a sort of volumes.
type VolumeTypeStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *VolumeTypeResourceStatus `json:"resource,omitempty"`
}

// VolumeTypeResourceStatus is a sort of volumes as OpenStack last described it. Nothing of
// it is validated.
type VolumeTypeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// ExtraSpecs choose and instruct what keeps the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExtraSpecs []VolumeTypeExtraSpecStatus `json:"extraSpecs,omitempty"`
	// IsPublic says whether all projects may use it.
	// +optional
	IsPublic *bool `json:"isPublic"`
}

// VolumeTypeExtraSpecStatus is an instruction to what keeps the volumes.
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
