package v1alpha1

// KeyPairFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type KeyPairFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
}

// KeyPairResourceSpec is the desired state of a key pair.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="KeyPairResourceSpec is immutable"
type KeyPairResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Type of the key.
	// +optional
	// +kubebuilder:validation:Enum=ssh;x509
	Type *string `json:"type,omitempty"`
	// PublicKey is the key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	PublicKey string `json:"publicKey"`
}

// KeyPairResourceStatus is the state of a key pair that OpenStack last reported. The values are not
// validated.
type KeyPairResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Type of the key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// PublicKey is the key.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	PublicKey string `json:"publicKey"`
	// Fingerprint of the key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Fingerprint string `json:"fingerprint"`
}
