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

// RouterSpec says what a router between networks should be, or which one is meant.
type RouterSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *RouterImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *RouterImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
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
	// Filter that exactly one resource matches.
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

// RouterResourceSpec says what a router between networks should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.externalGateways) == has(oldSelf.externalGateways) && has(self.distributed) == has(oldSelf.distributed) && has(self.availabilityZoneHints) == has(oldSelf.availabilityZoneHints) && has(self.projectRef) == has(oldSelf.projectRef)",message="externalGateways, distributed, availabilityZoneHints and projectRef can't be added or removed: immutable"
type RouterResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
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
	// AdminStateUp says whether it routes.
	// +optional
	AdminStateUp *bool `json:"adminStateUp,omitempty"`
	// ExternalGateways lead to networks outside.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="externalGateways is immutable"
	ExternalGateways []ExternalGateway `json:"externalGateways,omitempty"`
	// Distributed says whether it is on every host.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="distributed is immutable"
	Distributed *bool `json:"distributed,omitempty"`
	// AvailabilityZoneHints are the zones where it should be.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZoneHints is immutable"
	AvailabilityZoneHints []AvailabilityZoneHint `json:"availabilityZoneHints,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Left out, it is that
	// of the credentials.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
}

// ExternalGateway leads to a network outside.
type ExternalGateway struct {
	// NetworkRef names the Network.
	NetworkRef KubernetesNameRef `json:"networkRef"`
}

// RouterStatus is what is known of a router between networks.
type RouterStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *RouterResourceStatus `json:"resource,omitempty"`
}

// RouterResourceStatus is a router between networks as OpenStack last described
// it. Nothing of it is validated.
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
	// AdminStateUp says whether it routes.
	// +optional
	AdminStateUp *bool `json:"adminStateUp"`
	// ExternalGateways lead to networks outside.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExternalGateways []ExternalGatewayStatus `json:"externalGateways,omitempty"`
	// AvailabilityZoneHints are the zones where it should be.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
}

// ExternalGatewayStatus leads to a network outside.
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
