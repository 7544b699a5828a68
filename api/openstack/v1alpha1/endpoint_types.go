package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Endpoint is an address of a Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Endpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec EndpointSpec `json:"spec"`
	// +optional
	Status EndpointStatus `json:"status,omitempty"`
}

// EndpointList is a list of Endpoint objects.
//
// +kubebuilder:object:root=true
type EndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Endpoint `json:"items"`
}

// EndpointSpec says what an address of a Service should be, or which one is meant.
type EndpointSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *EndpointImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *EndpointImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
	// +optional
	Resource *EndpointResourceSpec `json:"resource,omitempty"`
}

// EndpointImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type EndpointImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that exactly one resource matches.
	// +optional
	Filter *EndpointFilter `json:"filter,omitempty"`
}

// EndpointFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type EndpointFilter struct {
	// Interface says who it is for.
	// +optional
	// +kubebuilder:validation:Enum=admin;internal;public
	Interface *string `json:"interface,omitempty"`
	// ServiceRef names the Service.
	// +optional
	ServiceRef *KubernetesNameRef `json:"serviceRef,omitempty"`
	// URL is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL *string `json:"url,omitempty"`
}

// EndpointResourceSpec says what an address of a Service should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description)",message="description can't be added or removed: immutable"
type EndpointResourceSpec struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="description is immutable"
	Description *OpenStackDescription `json:"description,omitempty"`
	// Enabled says whether it can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interface says who it is for.
	// +kubebuilder:validation:Enum=admin;internal;public
	Interface string `json:"interface"`
	// URL is the address.
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// ServiceRef names the Service.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceRef is immutable"
	ServiceRef KubernetesNameRef `json:"serviceRef"`
}

// EndpointStatus is what is known of an address of a Service.
type EndpointStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *EndpointResourceStatus `json:"resource,omitempty"`
}

// EndpointResourceStatus is an address of a Service as OpenStack last described
// it. Nothing of it is validated.
type EndpointResourceStatus struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Enabled says whether it can be used.
	// +optional
	Enabled *bool `json:"enabled"`
	// Interface says who it is for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Interface string `json:"interface"`
	// ServiceID is the service.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ServiceID string `json:"serviceID"`
	// URL is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
}

// GetCommonSpec returns what all kinds have in common.
func (e *Endpoint) GetCommonSpec() *CommonSpec { return &e.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (e *Endpoint) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &e.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (e *Endpoint) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &e.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (e *Endpoint) GetImport() (id string, asked bool) {
	i := cmp.Or(e.Spec.Import, e.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (e *Endpoint) GetFilter() *EndpointFilter {
	if i := cmp.Or(e.Spec.Import, e.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (e *Endpoint) GetResource() *EndpointResourceSpec { return e.Spec.Resource }
