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

// EndpointSpec describes an endpoint: the desired state in Resource, or an existing resource in
// Import.
type EndpointSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *EndpointImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *EndpointImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
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
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *EndpointFilter `json:"filter,omitempty"`
}

// EndpointFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type EndpointFilter struct {
	// Interface is the audience of the endpoint: admin, internal or public.
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

// EndpointResourceSpec is the desired state of an endpoint.
//
// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description)",message="description can't be added or removed: immutable"
type EndpointResourceSpec struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="description is immutable"
	Description *OpenStackDescription `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interface is the audience of the endpoint: admin, internal or public.
	// +kubebuilder:validation:Enum=admin;internal;public
	Interface string `json:"interface"`
	// URL is the address.
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// ServiceRef names the Service.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceRef is immutable"
	ServiceRef KubernetesNameRef `json:"serviceRef"`
}

// EndpointStatus is the observed state of an endpoint.
type EndpointStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *EndpointResourceStatus `json:"resource,omitempty"`
}

// EndpointResourceStatus is the state of an endpoint that OpenStack last reported. The values are
// not validated.
type EndpointResourceStatus struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
	// Interface is the audience of the endpoint: admin, internal or public.
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
