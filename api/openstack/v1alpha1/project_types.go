package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Project is a project of the identity service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Project struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ProjectSpec `json:"spec"`
	// +optional
	Status ProjectStatus `json:"status,omitempty"`
}

// ProjectList is a list of Project objects.
//
// +kubebuilder:object:root=true
type ProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Project `json:"items"`
}

// ProjectSpec describes a project: the desired state in Resource, or an existing resource in
// Import.
type ProjectSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *ProjectImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *ProjectImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *ProjectResourceSpec `json:"resource,omitempty"`
}

// ProjectImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ProjectImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *ProjectFilter `json:"filter,omitempty"`
}

// ProjectFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ProjectFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// DomainRef names the Domain that the project belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`

	FilterByKeystoneTags `json:",inline"`
}

// ProjectResourceSpec is the desired state of a project.
//
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
type ProjectResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65535
	Description *string `json:"description,omitempty"`
	// DomainRef names the Domain that the project belongs to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domainRef is immutable"
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=80
	Tags []KeystoneTag `json:"tags,omitempty"`
}

// ProjectStatus is the observed state of a project.
type ProjectStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *ProjectResourceStatus `json:"resource,omitempty"`
}

// ProjectResourceStatus is the state of a project that OpenStack last reported. The values are not
// validated.
type ProjectResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=65535
	Description string `json:"description,omitempty"`
	// DomainID is the domain that the project belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
}

// GetCommonSpec returns what all kinds have in common.
func (p *Project) GetCommonSpec() *CommonSpec { return &p.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (p *Project) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &p.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (p *Project) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &p.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (p *Project) GetImport() (id string, asked bool) {
	i := cmp.Or(p.Spec.Import, p.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (p *Project) GetFilter() *ProjectFilter {
	if i := cmp.Or(p.Spec.Import, p.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (p *Project) GetResource() *ProjectResourceSpec { return p.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (p *Project) GetResourceName() string {
	if r := p.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return p.Name
}
