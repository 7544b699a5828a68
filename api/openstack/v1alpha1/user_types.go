package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// User is a person or a program that can log in.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UserSpec `json:"spec"`
	// +optional
	Status UserStatus `json:"status,omitempty"`
}

// UserList is a list of User objects.
//
// +kubebuilder:object:root=true
type UserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []User `json:"items"`
}

// UserSpec describes a user: the desired state in Resource, or an existing resource in Import.
type UserSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *UserImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *UserImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *UserResourceSpec `json:"resource,omitempty"`
}

// UserImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type UserImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *UserFilter `json:"filter,omitempty"`
}

// UserFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type UserFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
}

// UserResourceSpec is the desired state of a user.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.passwordRef) || has(self.passwordRef)",message="passwordRef may not be removed once set"
// +kubebuilder:validation:XValidation:rule="has(self.domainRef) == has(oldSelf.domainRef)",message="domainRef can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.defaultProjectRef) == has(oldSelf.defaultProjectRef)",message="defaultProjectRef can't be added or removed: immutable"
type UserResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// DomainRef names the Domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="domainRef is immutable"
	DomainRef *KubernetesNameRef `json:"domainRef,omitempty"`
	// DefaultProjectRef names the Project that the user works in by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="defaultProjectRef is immutable"
	DefaultProjectRef *KubernetesNameRef `json:"defaultProjectRef,omitempty"`
	// Enabled tells whether the user can log in.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// PasswordRef names the Secret. Key password holds the password. The operator sets the password
	// again when the Secret changes.
	// +optional
	PasswordRef *KubernetesNameRef `json:"passwordRef,omitempty"`
}

// UserStatus is the observed state of a user.
type UserStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *UserResourceStatus `json:"resource,omitempty"`
}

// UserResourceStatus is the state of a user that OpenStack last reported. The values are not
// validated.
type UserResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// DomainID is the domain that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID"`
	// DefaultProjectID is the project that the user works in by default.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DefaultProjectID string `json:"defaultProjectID,omitempty"`
	// Enabled tells whether the user can log in.
	// +optional
	Enabled *bool `json:"enabled"`
	// PasswordExpiresAt is when the password expires.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PasswordExpiresAt string `json:"passwordExpiresAt,omitempty"`
	// AppliedPasswordRef names the Secret that the password was last set from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AppliedPasswordRef string `json:"appliedPasswordRef,omitempty"`
}

// GetCommonSpec returns what all kinds have in common.
func (u *User) GetCommonSpec() *CommonSpec { return &u.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (u *User) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &u.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (u *User) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &u.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (u *User) GetImport() (id string, asked bool) {
	i := cmp.Or(u.Spec.Import, u.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (u *User) GetFilter() *UserFilter {
	if i := cmp.Or(u.Spec.Import, u.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (u *User) GetResource() *UserResourceSpec { return u.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (u *User) GetResourceName() string {
	if s := u.Spec.Resource; s != nil && s.Name != nil {
		return string(*s.Name)
	}
	return u.Name
}
