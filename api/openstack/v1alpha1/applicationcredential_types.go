package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// ApplicationCredential is a secret with which a program acts for a User, with some of the User's
// Roles.
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

// ApplicationCredentialSpec describes an application credential: the desired state in Resource, or
// an existing resource in Import.
type ApplicationCredentialSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *ApplicationCredentialImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *ApplicationCredentialImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
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
	// Filter that must match exactly 1 resource.
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
	// UserRef names the User that the application credential acts for.
	UserRef KubernetesNameRef `json:"userRef"`
}

// ApplicationCredentialResourceSpec is the desired state of an application credential.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ApplicationCredentialResourceSpec is immutable"
type ApplicationCredentialResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// UserRef names the User that the application credential acts for. The credentials in
	// cloudCredentialsRef must be those of this User: OpenStack refuses any other.
	UserRef KubernetesNameRef `json:"userRef"`
	// Unrestricted lets the application credential create and delete other application credentials.
	// +optional
	Unrestricted *bool `json:"unrestricted,omitempty"`
	// SecretRef names the Secret. Key value holds the secret of the application credential.
	SecretRef KubernetesNameRef `json:"secretRef"`
	// RoleRefs name the Roles of the application credential. Defaults to all roles of the user.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	RoleRefs []KubernetesNameRef `json:"roleRefs,omitempty"`
	// AccessRules are the API requests that the application credential allows. Defaults to all
	// requests.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	AccessRules []ApplicationCredentialAccessRule `json:"accessRules,omitempty"`
	// ExpiresAt is when the application credential expires. Without ExpiresAt it never does.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ApplicationCredentialAccessRule is an API request that an application credential allows.
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

// ApplicationCredentialStatus is the observed state of an application credential.
type ApplicationCredentialStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *ApplicationCredentialResourceStatus `json:"resource,omitempty"`
}

// ApplicationCredentialResourceStatus is the state of an application credential that OpenStack last
// reported. The values are not validated.
type ApplicationCredentialResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Unrestricted lets the application credential create and delete other application credentials.
	// +optional
	Unrestricted *bool `json:"unrestricted"`
	// ProjectID is the project that the application credential is for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// Roles of the application credential.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Roles []ApplicationCredentialRoleStatus `json:"roles,omitempty"`
	// ExpiresAt is when the application credential expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// AccessRules are the API requests that the application credential allows.
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

// ApplicationCredentialAccessRuleStatus is an API request that an application credential allows.
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
