package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// ServerGroup is a rule for the placement of Servers.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type ServerGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServerGroupSpec `json:"spec"`
	// +optional
	Status ServerGroupStatus `json:"status,omitempty"`
}

// ServerGroupList is a list of ServerGroup objects.
//
// +kubebuilder:object:root=true
type ServerGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ServerGroup `json:"items"`
}

// ServerGroupSpec describes a server group: the desired state in Resource, or an existing resource
// in Import.
type ServerGroupSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *ServerGroupImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *ServerGroupImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *ServerGroupResourceSpec `json:"resource,omitempty"`
}

// ServerGroupImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerGroupImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *ServerGroupFilter `json:"filter,omitempty"`
}

// ServerGroupFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServerGroupFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
}

// ServerGroupResourceSpec is the desired state of a server group.
//
// +kubebuilder:validation:XValidation:rule="has(self.rules) && self.rules.maxServerPerHost > 0 ? self.policy == 'anti-affinity' : true",message="maxServerPerHost can only be used with the anti-affinity policy"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ServerGroupResourceSpec is immutable"
type ServerGroupResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Policy is the rule: affinity, anti-affinity or a soft variant.
	// +kubebuilder:validation:Enum=affinity;anti-affinity;soft-affinity;soft-anti-affinity
	Policy string `json:"policy"`
	// Rules are the parameters of Policy.
	// +optional
	Rules *ServerGroupRules `json:"rules,omitempty"`
}

// ServerGroupRules are the parameters of Policy.
type ServerGroupRules struct {
	// MaxServerPerHost is the maximum number of servers on a host.
	// +optional
	MaxServerPerHost int32 `json:"maxServerPerHost,omitempty"`
}

// ServerGroupStatus is the observed state of a server group.
type ServerGroupStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *ServerGroupResourceStatus `json:"resource,omitempty"`
}

// ServerGroupResourceStatus is the state of a server group that OpenStack last reported. The values
// are not validated.
type ServerGroupResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Policy is the rule: affinity, anti-affinity or a soft variant.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Policy string `json:"policy"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// UserID is the user that created the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserID string `json:"userID"`
	// Rules are the parameters of Policy.
	// +optional
	Rules *ServerGroupRulesStatus `json:"rules,omitempty"`
}

// ServerGroupRulesStatus are the parameters of Policy.
type ServerGroupRulesStatus struct {
	// MaxServerPerHost is the maximum number of servers on a host.
	// +optional
	MaxServerPerHost *int32 `json:"maxServerPerHost"`
}

// GetCommonSpec returns what all kinds have in common.
func (s *ServerGroup) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *ServerGroup) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *ServerGroup) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &s.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *ServerGroup) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *ServerGroup) GetFilter() *ServerGroupFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *ServerGroup) GetResource() *ServerGroupResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *ServerGroup) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
