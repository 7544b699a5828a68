package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Group is a group of users.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec GroupSpec `json:"spec"`
	// +optional
	Status GroupStatus `json:"status,omitempty"`
}

// GroupList is a list of Group objects.
//
// +kubebuilder:object:root=true
type GroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Group `json:"items"`
}

// GroupSpec describes a group: the desired state in Resource, or an existing resource in Import.
type GroupSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *GroupImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *GroupImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *GroupResourceSpec `json:"resource,omitempty"`
}

// GroupImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type GroupImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *GroupFilter `json:"filter,omitempty"`
}

// GroupFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type GroupFilter struct {
	// Name of the resource.
	// +optional
	Name *KeystoneName `json:"name,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// GroupResourceSpec is the desired state of a group.
//
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
type GroupResourceSpec struct {
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

// GroupStatus is the observed state of a group.
type GroupStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *GroupResourceStatus `json:"resource,omitempty"`
}

// GroupResourceStatus is the state of a group that OpenStack last reported. The values are not
// validated.
type GroupResourceStatus struct {
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
func (g *Group) GetCommonSpec() *CommonSpec { return &g.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (g *Group) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &g.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (g *Group) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &g.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (g *Group) GetImport() (id string, asked bool) {
	i := cmp.Or(g.Spec.Import, g.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (g *Group) GetFilter() *GroupFilter {
	if i := cmp.Or(g.Spec.Import, g.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (g *Group) GetResource() *GroupResourceSpec { return g.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (g *Group) GetResourceName() string {
	if r := g.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return g.Name
}
