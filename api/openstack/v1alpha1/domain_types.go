package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Domain is a domain of the identity service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Domain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DomainSpec `json:"spec"`
	// +optional
	Status DomainStatus `json:"status,omitempty"`
}

// DomainList is a list of Domain objects.
//
// +kubebuilder:object:root=true
type DomainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Domain `json:"items"`
}

// DomainSpec describes a domain: the desired state in Resource, or an existing resource in Import.
type DomainSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *DomainImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *DomainImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *DomainResourceSpec `json:"resource,omitempty"`
}

// DomainImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type DomainImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *DomainFilter `json:"filter,omitempty"`
}

// DomainFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type DomainFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// DomainResourceSpec is the desired state of a domain.
type DomainResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// DomainStatus is the observed state of a domain.
type DomainStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *DomainResourceStatus `json:"resource,omitempty"`
}

// DomainResourceStatus is the state of a domain that OpenStack last reported. The values are not
// validated.
type DomainResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
}

// GetCommonSpec returns what all kinds have in common.
func (d *Domain) GetCommonSpec() *CommonSpec { return &d.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (d *Domain) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &d.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (d *Domain) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &d.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (d *Domain) GetImport() (id string, asked bool) {
	i := cmp.Or(d.Spec.Import, d.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (d *Domain) GetFilter() *DomainFilter {
	if i := cmp.Or(d.Spec.Import, d.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (d *Domain) GetResource() *DomainResourceSpec { return d.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (d *Domain) GetResourceName() string {
	if r := d.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return d.Name
}
