package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Flavor is a size of servers.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Flavor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FlavorSpec `json:"spec"`
	// +optional
	Status FlavorStatus `json:"status,omitempty"`
}

// FlavorList is a list of Flavor objects.
//
// +kubebuilder:object:root=true
type FlavorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Flavor `json:"items"`
}

// FlavorSpec describes a flavor: the desired state in Resource, or an existing resource in Import.
type FlavorSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *FlavorImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *FlavorImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *FlavorResourceSpec `json:"resource,omitempty"`
}

// FlavorImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type FlavorImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *FlavorFilter `json:"filter,omitempty"`
}

// FlavorFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type FlavorFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// RAM in MB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RAM *int32 `json:"ram,omitempty"`
	// Vcpus is the number of processors.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Vcpus *int32 `json:"vcpus,omitempty"`
	// Disk is the size of the root disk in GB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Disk *int32 `json:"disk,omitempty"`
}

// FlavorResourceSpec is the desired state of a flavor.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name)",message="name can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.id) == has(oldSelf.id)",message="id can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description)",message="description can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.ephemeral) == has(oldSelf.ephemeral)",message="ephemeral can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.swap) == has(oldSelf.swap)",message="swap can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.isPublic) == has(oldSelf.isPublic)",message="isPublic can't be added or removed: immutable"
type FlavorResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name is immutable"
	Name *OpenStackName `json:"name,omitempty"`
	// ID of the resource. OpenStack chooses an id when the field is empty.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._-]([a-zA-Z0-9. _-]*[a-zA-Z0-9._-])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="id is immutable"
	ID *string `json:"id,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65535
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="description is immutable"
	Description *string `json:"description,omitempty"`
	// RAM in MB.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ram is immutable"
	RAM int32 `json:"ram"`
	// Vcpus is the number of processors.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="vcpus is immutable"
	Vcpus int32 `json:"vcpus"`
	// Disk is the size of the root disk in GB. 0 means the size of the image.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="disk is immutable"
	Disk int32 `json:"disk"`
	// Swap is the size of the swap space in MB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="swap is immutable"
	Swap *int32 `json:"swap,omitempty"`
	// IsPublic tells whether all projects can use the flavor.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="isPublic is immutable"
	IsPublic *bool `json:"isPublic,omitempty"`
	// Ephemeral is the size in GB of a disk that is deleted together with its server.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ephemeral is immutable"
	Ephemeral *int32 `json:"ephemeral,omitempty"`
	// ExtraSpecs are key-value pairs for the scheduler and the hypervisor.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	ExtraSpecs []FlavorExtraSpec `json:"extraSpecs,omitempty"`
}

// FlavorExtraSpec is a key-value pair for the scheduler and the hypervisor.
type FlavorExtraSpec struct {
	// Name of the extra spec.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-_:. ]+$`
	Name string `json:"name"`
	// Value of the extra spec.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// FlavorStatus is the observed state of a flavor.
type FlavorStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *FlavorResourceStatus `json:"resource,omitempty"`
}

// FlavorResourceStatus is the state of a flavor that OpenStack last reported. The values are not
// validated.
type FlavorResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=65535
	Description string `json:"description,omitempty"`
	// RAM in MB.
	// +optional
	RAM *int32 `json:"ram"`
	// Vcpus is the number of processors.
	// +optional
	Vcpus *int32 `json:"vcpus"`
	// Disk is the size of the root disk in GB.
	// +optional
	Disk *int32 `json:"disk"`
	// Swap is the size of the swap space in MB.
	// +optional
	Swap *int32 `json:"swap,omitempty"`
	// IsPublic tells whether all projects can use the flavor.
	// +optional
	IsPublic *bool `json:"isPublic"`
	// Ephemeral is the size in GB of a disk that is deleted together with its server.
	// +optional
	Ephemeral *int32 `json:"ephemeral,omitempty"`
	// ExtraSpecs are key-value pairs for the scheduler and the hypervisor.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExtraSpecs []FlavorExtraSpecStatus `json:"extraSpecs,omitempty"`
}

// FlavorExtraSpecStatus is a key-value pair for the scheduler and the hypervisor.
type FlavorExtraSpecStatus struct {
	// Name of the extra spec.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Value of the extra spec.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// GetCommonSpec returns what all kinds have in common.
func (f *Flavor) GetCommonSpec() *CommonSpec { return &f.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (f *Flavor) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &f.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (f *Flavor) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &f.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (f *Flavor) GetImport() (id string, asked bool) {
	i := cmp.Or(f.Spec.Import, f.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (f *Flavor) GetFilter() *FlavorFilter {
	if i := cmp.Or(f.Spec.Import, f.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (f *Flavor) GetResource() *FlavorResourceSpec { return f.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (f *Flavor) GetResourceName() string {
	if s := f.Spec.Resource; s != nil && s.Name != nil {
		return string(*s.Name)
	}
	return f.Name
}
