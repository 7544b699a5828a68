package v1alpha1

import "strings"

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
