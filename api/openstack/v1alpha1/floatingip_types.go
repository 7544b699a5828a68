package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// FloatingIP is an external address that leads to a Port.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.resource.floatingIP"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type FloatingIP struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FloatingIPSpec `json:"spec"`
	// +optional
	Status FloatingIPStatus `json:"status,omitempty"`
}

// FloatingIPList is a list of FloatingIP objects.
//
// +kubebuilder:object:root=true
type FloatingIPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FloatingIP `json:"items"`
}

// FloatingIPSpec describes a floating IP: the desired state in Resource, or an existing resource in
// Import.
type FloatingIPSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *FloatingIPImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *FloatingIPImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *FloatingIPResourceSpec `json:"resource,omitempty"`
}

// FloatingIPImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type FloatingIPImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *FloatingIPFilter `json:"filter,omitempty"`
}

// FloatingIPFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type FloatingIPFilter struct {
	// FloatingIP is the address.
	// +optional
	FloatingIP *IPvAny `json:"floatingIP,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// FloatingNetworkRef names the external Network that the address is from.
	// +optional
	FloatingNetworkRef *KubernetesNameRef `json:"floatingNetworkRef,omitempty"`
	// PortRef names the Port that the floating IP leads to.
	// +optional
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// Status of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status *string `json:"status,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// FloatingIPResourceSpec is the desired state of a floating IP.
//
// +kubebuilder:validation:XValidation:rule="has(self.floatingNetworkRef) != has(self.floatingSubnetRef)",message="Exactly one of 'floatingNetworkRef' or 'floatingSubnetRef' must be set"
// +kubebuilder:validation:XValidation:rule="has(self.floatingNetworkRef) == has(oldSelf.floatingNetworkRef) && has(self.floatingSubnetRef) == has(oldSelf.floatingSubnetRef) && has(self.floatingIP) == has(oldSelf.floatingIP) && has(self.portRef) == has(oldSelf.portRef) && has(self.fixedIP) == has(oldSelf.fixedIP) && has(self.projectRef) == has(oldSelf.projectRef)",message="floatingNetworkRef, floatingSubnetRef, floatingIP, portRef, fixedIP and projectRef can't be added or removed: immutable"
type FloatingIPResourceSpec struct {
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// FloatingNetworkRef names the external Network that the address is from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingNetworkRef is immutable"
	FloatingNetworkRef *KubernetesNameRef `json:"floatingNetworkRef,omitempty"`
	// FloatingSubnetRef names the Subnet that the address is from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingSubnetRef is immutable"
	FloatingSubnetRef *KubernetesNameRef `json:"floatingSubnetRef,omitempty"`
	// FloatingIP is the address. OpenStack chooses an address when the field is empty.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="floatingIP is immutable"
	FloatingIP *IPvAny `json:"floatingIP,omitempty"`
	// PortRef names the Port that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="portRef is immutable"
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
	// FixedIP is the address of the Port in PortRef that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fixedIP is immutable"
	FixedIP *IPvAny `json:"fixedIP,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// FloatingIPStatus is the observed state of a floating IP.
type FloatingIPStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *FloatingIPResourceStatus `json:"resource,omitempty"`
}

// FloatingIPResourceStatus is the state of a floating IP that OpenStack last reported. The values
// are not validated.
type FloatingIPResourceStatus struct {
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// FloatingNetworkID is the network that the address is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FloatingNetworkID string `json:"floatingNetworkID"`
	// FloatingIP is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FloatingIP string `json:"floatingIP"`
	// PortID is the port that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// FixedIP is the address that the floating IP leads to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FixedIP string `json:"fixedIP"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Status of the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// RouterID is the router that the floating IP leads through.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RouterID string `json:"routerID"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`

	NeutronStatusMetadata `json:",inline"`
}

// GetCommonSpec returns what all kinds have in common.
func (f *FloatingIP) GetCommonSpec() *CommonSpec { return &f.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (f *FloatingIP) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &f.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (f *FloatingIP) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &f.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (f *FloatingIP) GetImport() (id string, asked bool) {
	i := cmp.Or(f.Spec.Import, f.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (f *FloatingIP) GetFilter() *FloatingIPFilter {
	if i := cmp.Or(f.Spec.Import, f.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (f *FloatingIP) GetResource() *FloatingIPResourceSpec { return f.Spec.Resource }
