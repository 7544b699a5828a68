package v1alpha1

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// RoleAssignment gives a user or a group a role on a project or a domain.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type RoleAssignment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RoleAssignmentSpec `json:"spec"`
	// +optional
	Status RoleAssignmentStatus `json:"status,omitempty"`
}

// RoleAssignmentList is a list of RoleAssignment objects.
//
// +kubebuilder:object:root=true
type RoleAssignmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RoleAssignment `json:"items"`
}

// RoleAssignmentSpec describes a role assignment: the desired state in Resource, or an existing
// resource in Import.
type RoleAssignmentSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *RoleAssignmentImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *RoleAssignmentImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *RoleAssignmentResourceSpec `json:"resource,omitempty"`
}

// RoleAssignmentImport finds an existing resource by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RoleAssignmentImport struct {
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *RoleAssignmentFilter `json:"filter,omitempty"`
}

// RoleAssignmentFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type RoleAssignmentFilter struct {
	// RoleRef names the Role.
	// +optional
	RoleRef *KubernetesNameRef `json:"roleRef,omitempty"`
	// UserRef names the User that has the role.
	// +optional
	UserRef *KubernetesNameRef `json:"userRef,omitempty"`
	// GroupRef names the Group that has the role.
	// +optional
	GroupRef *KubernetesNameRef `json:"groupRef,omitempty"`
	// ProjectRef names the Project that the role is on.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// DomainRef names the Domain that the role is on.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleAssignmentResourceSpec is the desired state of a role assignment.
//
// +kubebuilder:validation:XValidation:rule="(has(self.userRef) && !has(self.groupRef)) || (!has(self.userRef) && has(self.groupRef))",message="exactly one of userRef or groupRef is required"
// +kubebuilder:validation:XValidation:rule="(has(self.projectRef) && !has(self.domainRef)) || (!has(self.projectRef) && has(self.domainRef))",message="exactly one of projectRef or domainRef is required"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="RoleAssignmentResourceSpec is immutable"
type RoleAssignmentResourceSpec struct {
	// RoleRef names the Role.
	RoleRef KubernetesNameRef `json:"roleRef"`
	// UserRef names the User that has the role.
	// +optional
	UserRef *KubernetesNameRef `json:"userRef,omitempty"`
	// GroupRef names the Group that has the role.
	// +optional
	GroupRef *KubernetesNameRef `json:"groupRef,omitempty"`
	// ProjectRef names the Project that the role is on.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// DomainRef names the Domain that the role is on.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// RoleAssignmentStatus is the observed state of a role assignment.
type RoleAssignmentStatus struct {
	sharedv1alpha1.AnonymousStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *RoleAssignmentResourceStatus `json:"resource,omitempty"`
}

// RoleAssignmentResourceStatus is the state of a role assignment that OpenStack last reported. The
// values are not validated.
type RoleAssignmentResourceStatus struct {
	// RoleID is the role.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RoleID string `json:"roleID,omitempty"`
	// UserID is the user that has the role.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserID string `json:"userID,omitempty"`
	// GroupID is the group that has the role.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	GroupID string `json:"groupID,omitempty"`
	// ProjectID is the project that the role is on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID,omitempty"`
	// DomainID is the domain that the role is on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID,omitempty"`
}

// GetCommonSpec returns what all kinds have in common.
func (r *RoleAssignment) GetCommonSpec() *CommonSpec { return &r.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (r *RoleAssignment) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &r.Spec.ExternalSpec }

// GetImport returns whether an existing resource is imported or adopted. The id is always empty,
// since OpenStack gives a role assignment no id.
func (r *RoleAssignment) GetImport() (id string, asked bool) {
	return "", cmp.Or(r.Spec.Import, r.Spec.Adopt) != nil
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (r *RoleAssignment) GetFilter() *RoleAssignmentFilter {
	if i := cmp.Or(r.Spec.Import, r.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (r *RoleAssignment) GetResource() *RoleAssignmentResourceSpec { return r.Spec.Resource }

// GetExternalStatus returns what is known of the resource.
func (r *RoleAssignment) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return (*sharedv1alpha1.ExternalStatus)(&r.Status.AnonymousStatus)
}

// GetIdentity returns the Path of the assignment in place of an id, or "" while the Path is
// unknown.
func (r *RoleAssignment) GetIdentity() string {
	if r.Status.Resource == nil {
		return ""
	}
	return r.Status.Resource.Path()
}

// Path returns the path that identifies the assignment in OpenStack, such as
// projects/P/users/U/roles/R. The path is empty while the role, the user or group, or the project
// or domain is unknown.
func (s *RoleAssignmentResourceStatus) Path() string {
	on, target := "projects", s.ProjectID
	if target == "" {
		on, target = "domains", s.DomainID
	}
	whose, actor := "users", s.UserID
	if actor == "" {
		whose, actor = "groups", s.GroupID
	}
	if target == "" || actor == "" || s.RoleID == "" {
		return ""
	}
	return strings.Join([]string{on, target, whose, actor, "roles", s.RoleID}, "/")
}
