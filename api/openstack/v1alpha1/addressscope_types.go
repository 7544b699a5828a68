package v1alpha1

// AddressScopeFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type AddressScopeFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ProjectRef names the Project that the resource belongs to.
	// +optional
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *IPVersion `json:"ipVersion,omitempty"`
	// Shared lets every project use the resource.
	// +optional
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeResourceSpec is the desired state of an address scope.
//
// +kubebuilder:validation:XValidation:rule="has(self.projectRef) == has(oldSelf.projectRef)",message="projectRef can't be added or removed: immutable"
type AddressScopeResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ProjectRef names the Project that the resource belongs to. Defaults to the project of
	// cloudCredentialsRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef is immutable"
	ProjectRef *KubernetesNameRef `json:"projectRef,omitempty"`
	// IPVersion of the addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipVersion is immutable"
	IPVersion IPVersion `json:"ipVersion"`
	// Shared lets every project use the resource. A shared address scope can't be unshared.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(oldSelf && !self)",message="shared address scope can't be unshared"
	Shared *bool `json:"shared,omitempty"`
}

// AddressScopeResourceStatus is the state of an address scope that OpenStack last reported. The
// values are not validated.
type AddressScopeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID"`
	// IPVersion of the addresses.
	// +optional
	IPVersion *int32 `json:"ipVersion"`
	// Shared lets every project use the resource.
	// +optional
	Shared *bool `json:"shared"`
}
