package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
