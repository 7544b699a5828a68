package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Service is an entry of the service catalog.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServiceSpec `json:"spec"`
	// +optional
	Status ServiceStatus `json:"status,omitempty"`
}

// ServiceList is a list of Service objects.
//
// +kubebuilder:object:root=true
type ServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Service `json:"items"`
}

// ServiceSpec describes a service: the desired state in Resource, or an existing resource in
// Import.
type ServiceSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *ServiceImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *ServiceImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *ServiceResourceSpec `json:"resource,omitempty"`
}

// ServiceImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServiceImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *ServiceFilter `json:"filter,omitempty"`
}

// ServiceFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServiceFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Type of the service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Type *string `json:"type,omitempty"`
}

// ServiceResourceSpec is the desired state of a service.
type ServiceResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Type of the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Type string `json:"type"`
	// Enabled tells whether the resource can be used.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
}

// ServiceStatus is the observed state of a service.
type ServiceStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *ServiceResourceStatus `json:"resource,omitempty"`
}

// ServiceResourceStatus is the state of a service that OpenStack last reported. The values are not
// validated.
type ServiceResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource. Empty if OpenStack reports an empty description, left out if
	// OpenStack reports none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description *string `json:"description,omitempty"`
	// Type of the service.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// Enabled tells whether the resource can be used.
	// +optional
	Enabled *bool `json:"enabled"`
}

// GetCommonSpec returns what all kinds have in common.
func (s *Service) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *Service) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *Service) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &s.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *Service) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *Service) GetFilter() *ServiceFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *Service) GetResource() *ServiceResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *Service) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
