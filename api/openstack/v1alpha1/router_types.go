package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Router is a router between networks.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Router struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RouterSpec `json:"spec"`
	// +optional
	Status RouterStatus `json:"status,omitempty"`
}

// RouterList is a list of Router objects.
//
// +kubebuilder:object:root=true
type RouterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Router `json:"items"`
}

// RouterSpec describes a router: the desired state in Resource, or an existing resource in Import.
type RouterSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *RouterImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *RouterImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *RouterResourceSpec `json:"resource,omitempty"`
}

// RouterImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RouterImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *RouterFilter `json:"filter,omitempty"`
}

// RouterFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type RouterFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// RouterResourceSpec is the desired state of a router.
//
// +kubebuilder:validation:XValidation:rule="has(self.externalGateways) == has(oldSelf.externalGateways) && has(self.distributed) == has(oldSelf.distributed) && has(self.availabilityZoneHints) == has(oldSelf.availabilityZoneHints) && has(self.projectRef) == has(oldSelf.projectRef)",message="externalGateways, distributed, availabilityZoneHints and projectRef can't be added or removed: immutable"
type RouterResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *NeutronDescription `json:"description,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// AdminStateUp tells whether the router routes traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// ExternalGateways are the external networks that the router leads to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="externalGateways is immutable"
	ExternalGateways []ExternalGateway `json:"externalGateways,omitempty"`
	// Distributed tells whether the router runs on every host.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="distributed is immutable"
	Distributed *bool `json:"distributed,omitempty"`
	// AvailabilityZoneHints are the zones where the resource should be placed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZoneHints is immutable"
	AvailabilityZoneHints []AvailabilityZoneHint `json:"availabilityZoneHints,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// ExternalGateway is an external network that a router leads to.
type ExternalGateway struct {
	// NetworkRef names the Network.
	NetworkRef KubernetesNameRef `json:"networkRef"`
}

// RouterStatus is the observed state of a router.
type RouterStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *RouterResourceStatus `json:"resource,omitempty"`
}

// RouterResourceStatus is the state of a router that OpenStack last reported. The values are not
// validated.
type RouterResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Status of the router.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// AdminStateUp tells whether the router routes traffic.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// ExternalGateways are the external networks that the router leads to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExternalGateways []ExternalGatewayStatus `json:"externalGateways,omitempty"`
	// AvailabilityZoneHints are the zones where the resource should be placed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
}

// ExternalGatewayStatus is an external network that a router leads to.
type ExternalGatewayStatus struct {
	// NetworkID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetworkID string `json:"networkID"`
}

// GetCommonSpec returns what all kinds have in common.
func (r *Router) GetCommonSpec() *CommonSpec { return &r.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (r *Router) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &r.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (r *Router) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &r.Status.ExternalStatus }

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (r *Router) GetImport() (id string, asked bool) {
	i := cmp.Or(r.Spec.Import, r.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (r *Router) GetFilter() *RouterFilter {
	if i := cmp.Or(r.Spec.Import, r.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (r *Router) GetResource() *RouterResourceSpec { return r.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (r *Router) GetResourceName() string {
	if r := r.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return r.Name
}
