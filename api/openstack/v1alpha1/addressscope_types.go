package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// AddressScope is a scope in which IP addresses are unique.
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

// AddressScopeSpec describes an address scope: the desired state in Resource, or an existing
// resource in Import.
type AddressScopeSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *AddressScopeImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *AddressScopeImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
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
	// Filter that must match exactly 1 resource.
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
	// Shared lets every project use the resource.
	// +optional
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeResourceSpec is the desired state of an address scope.
//
// +kubebuilder:validation:XValidation:rule="has(self.projectRef) == has(oldSelf.projectRef)",message="projectRef can't be added or removed: immutable"
type AddressScopeResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// IPVersion of the addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipVersion is immutable"
	IPVersion IPVersion `json:"ipVersion"`
	// Shared lets every project use the resource. A shared address scope can't be unshared.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(oldSelf && !self)",message="shared address scope can't be unshared"
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeStatus is the observed state of an address scope.
type AddressScopeStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *AddressScopeResourceStatus `json:"resource,omitempty"`
}

// AddressScopeResourceStatus is the state of an address scope that OpenStack last reported. The
// values are not validated.
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
	// Shared lets every project use the resource.
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
