package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// ApplicationCredential is a secret by which a program acts for a user, with some of
// the user's roles.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type ApplicationCredential struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ApplicationCredentialSpec `json:"spec"`
	// +optional
	Status ApplicationCredentialStatus `json:"status,omitempty"`
}

// ApplicationCredentialList is a list of ApplicationCredential objects.
//
// +kubebuilder:object:root=true
type ApplicationCredentialList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ApplicationCredential `json:"items"`
}

// ApplicationCredentialSpec says what an application credential should be, or which one is meant.
type ApplicationCredentialSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *ApplicationCredentialImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *ApplicationCredentialImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
	// +optional
	Resource *ApplicationCredentialResourceSpec `json:"resource,omitempty"`
}

// ApplicationCredentialImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ApplicationCredentialImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that exactly one resource matches.
	// +optional
	Filter *ApplicationCredentialFilter `json:"filter,omitempty"`
}

// ApplicationCredentialFilter finds existing resources. All of its fields must
// match.
//
// +kubebuilder:validation:MinProperties=2
type ApplicationCredentialFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description *string `json:"description,omitempty"`
	// UserRef names the User that it acts for.
	UserRef KubernetesNameRef `json:"userRef"`
}

// ApplicationCredentialResourceSpec says what an application credential should be.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ApplicationCredentialResourceSpec is immutable"
type ApplicationCredentialResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// UserRef names the User that it acts for. OpenStack lets nobody else make one.
	UserRef KubernetesNameRef `json:"userRef"`
	// Unrestricted says whether it may make and delete others of its kind.
	// +optional
	Unrestricted *bool `json:"unrestricted,omitempty"`
	// SecretRef names the Secret whose key value holds the secret.
	SecretRef KubernetesNameRef `json:"secretRef"`
	// RoleRefs name the Roles that it has. Left out, it has all that the user has.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	RoleRefs []KubernetesNameRef `json:"roleRefs,omitempty"`
	// AccessRules are the requests that it may make. Left out, it may make all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AccessRules []ApplicationCredentialAccessRule `json:"accessRules,omitempty"`
	// ExpiresAt is when it ends. Left out, it does not.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ApplicationCredentialAccessRule is a request that may be made.
//
// +kubebuilder:validation:MinProperties=1
type ApplicationCredentialAccessRule struct {
	// Path of the request.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path *string `json:"path,omitempty"`
	// Method of the request.
	// +optional
	// +kubebuilder:validation:Enum=CONNECT;DELETE;GET;HEAD;OPTIONS;PATCH;POST;PUT;TRACE
	Method *string `json:"method,omitempty"`
	// ServiceRef names the Service that the request is made to.
	// +optional
	ServiceRef *KubernetesNameRef `json:"serviceRef,omitempty"`
}

// ApplicationCredentialStatus is what is known of an application credential.
type ApplicationCredentialStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *ApplicationCredentialResourceStatus `json:"resource,omitempty"`
}

// ApplicationCredentialResourceStatus is an application credential as OpenStack last
// described it. Nothing of it is validated.
type ApplicationCredentialResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Unrestricted says whether it may make and delete others of its kind.
	// +optional
	Unrestricted *bool `json:"unrestricted"`
	// ProjectID is the project that it is for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Roles are those that it has.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Roles []ApplicationCredentialRoleStatus `json:"roles,omitempty"`
	// ExpiresAt is when it ends.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// AccessRules are the requests that it may make.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AccessRules []ApplicationCredentialAccessRuleStatus `json:"accessRules,omitempty"`
}

// ApplicationCredentialRoleStatus is a role that an application credential has.
type ApplicationCredentialRoleStatus struct {
	// Name of the role.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// ID of the role.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
	// DomainID is the domain that the role belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DomainID string `json:"domainID,omitempty"`
}

// ApplicationCredentialAccessRuleStatus is a request that may be made.
type ApplicationCredentialAccessRuleStatus struct {
	// ID of the rule.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
	// Path of the request.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// Method of the request.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Method string `json:"method"`
	// Service is the type of the service that the request is made to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Service string `json:"service"`
}

// GetCommonSpec returns what all kinds have in common.
func (a *ApplicationCredential) GetCommonSpec() *CommonSpec { return &a.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (a *ApplicationCredential) GetExternalSpec() *sharedv1alpha1.ExternalSpec {
	return &a.Spec.ExternalSpec
}

// GetExternalStatus returns what is known of the resource.
func (a *ApplicationCredential) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &a.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (a *ApplicationCredential) GetImport() (id string, asked bool) {
	i := cmp.Or(a.Spec.Import, a.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (a *ApplicationCredential) GetFilter() *ApplicationCredentialFilter {
	if i := cmp.Or(a.Spec.Import, a.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (a *ApplicationCredential) GetResource() *ApplicationCredentialResourceSpec {
	return a.Spec.Resource
}

// GetResourceName returns the name that the resource should have.
func (a *ApplicationCredential) GetResourceName() string {
	if s := a.Spec.Resource; s != nil && s.Name != nil {
		return string(*s.Name)
	}
	return a.Name
}
