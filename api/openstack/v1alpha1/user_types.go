package v1alpha1

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
