package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// AddressScope is a scope within which addresses are unique.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type AddressScope struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AddressScopeSpec `json:"spec"`
	// +optional
	Status AddressScopeStatus `json:"status,omitempty"`
}

// AddressScopeList is a list of AddressScope objects.
//
// +kubebuilder:object:root=true
type AddressScopeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddressScope `json:"items"`
}

// AddressScopeSpec says what a scope within which addresses are unique should be,
// or which one is meant.
type AddressScopeSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *AddressScopeImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *AddressScopeImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
	// +optional
	Resource *AddressScopeResourceSpec `json:"resource,omitempty"`
}

// AddressScopeImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type AddressScopeImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that exactly one resource matches.
	// +optional
	Filter *AddressScopeFilter `json:"filter,omitempty"`
}

// AddressScopeFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type AddressScopeFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *IPVersion `json:"ipVersion,omitempty"`
	// Shared lets every project use it.
	// +optional
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeResourceSpec says what a scope within which addresses are unique
// should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.projectRef) == has(oldSelf.projectRef)",message="projectRef can't be added or removed: immutable"
type AddressScopeResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Left out, it is that
	// of the credentials.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// IPVersion of the addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipVersion is immutable"
	IPVersion IPVersion `json:"ipVersion"`
	// Shared lets every project use it. That can not be taken back.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(oldSelf && !self)",message="shared address scope can't be unshared"
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeStatus is what is known of a scope within which addresses are
// unique.
type AddressScopeStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *AddressScopeResourceStatus `json:"resource,omitempty"`
}

// AddressScopeResourceStatus is a scope within which addresses are unique as
// OpenStack last described it. Nothing of it is validated.
type AddressScopeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *int32 `json:"ipVersion"`
	// Shared lets every project use it.
	// +optional
	Shared *bool `json:"shared"`
}

// GetCommonSpec returns what all kinds have in common.
func (a *AddressScope) GetCommonSpec() *CommonSpec { return &a.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (a *AddressScope) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &a.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (a *AddressScope) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &a.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (a *AddressScope) GetImport() (id string, asked bool) {
	i := cmp.Or(a.Spec.Import, a.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (a *AddressScope) GetFilter() *AddressScopeFilter {
	if i := cmp.Or(a.Spec.Import, a.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (a *AddressScope) GetResource() *AddressScopeResourceSpec { return a.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (a *AddressScope) GetResourceName() string {
	if r := a.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return a.Name
}
