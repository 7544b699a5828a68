package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Role is a role that users can have.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RoleSpec `json:"spec"`
	// +optional
	Status RoleStatus `json:"status,omitempty"`
}

// RoleList is a list of Role objects.
//
// +kubebuilder:object:root=true
type RoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Role `json:"items"`
}

// RoleSpec describes a role: the desired state in Resource, or an existing resource in Import.
type RoleSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *RoleImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *RoleImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *RoleResourceSpec `json:"resource,omitempty"`
}

// RoleImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RoleImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *RoleFilter `json:"filter,omitempty"`
}

// RoleFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type RoleFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleResourceSpec is the desired state of a role.
//
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
type RoleResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domainRef is immutable"
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleStatus is the observed state of a role.
type RoleStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *RoleResourceStatus `json:"resource,omitempty"`
}

// RoleResourceStatus is the state of a role that OpenStack last reported. The values are not
// validated.
type RoleResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// DomainID is the domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID"`
}

// GetCommonSpec returns what all kinds have in common.
func (r *Role) GetCommonSpec() *CommonSpec { return &r.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (r *Role) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &r.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (r *Role) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &r.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (r *Role) GetImport() (id string, asked bool) {
	i := cmp.Or(r.Spec.Import, r.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (r *Role) GetFilter() *RoleFilter {
	if i := cmp.Or(r.Spec.Import, r.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (r *Role) GetResource() *RoleResourceSpec { return r.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (r *Role) GetResourceName() string {
	if r := r.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return r.Name
}
