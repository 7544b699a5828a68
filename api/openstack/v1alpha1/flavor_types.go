package v1alpha1

// FlavorFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type FlavorFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// RAM in MB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RAM *int32 `json:"ram,omitempty"`
	// Vcpus is the number of processors.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Vcpus *int32 `json:"vcpus,omitempty"`
	// Disk is the size of the root disk in GB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Disk *int32 `json:"disk,omitempty"`
}

// FlavorResourceSpec is the desired state of a flavor.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name)",message="name can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.id) == has(oldSelf.id)",message="id can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description)",message="description can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.ephemeral) == has(oldSelf.ephemeral)",message="ephemeral can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.swap) == has(oldSelf.swap)",message="swap can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.isPublic) == has(oldSelf.isPublic)",message="isPublic can't be added or removed: immutable"
type FlavorResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name is immutable"
	Name *OpenStackName `json:"name,omitempty"`
	// ID of the resource. OpenStack chooses an id when the field is empty.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._-]([a-zA-Z0-9. _-]*[a-zA-Z0-9._-])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="id is immutable"
	ID *string `json:"id,omitempty"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65535
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="description is immutable"
	Description *string `json:"description,omitempty"`
	// RAM in MB.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ram is immutable"
	RAM int32 `json:"ram"`
	// Vcpus is the number of processors.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="vcpus is immutable"
	Vcpus int32 `json:"vcpus"`
	// Disk is the size of the root disk in GB. 0 means the size of the image.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="disk is immutable"
	Disk int32 `json:"disk"`
	// Swap is the size of the swap space in MB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="swap is immutable"
	Swap *int32 `json:"swap,omitempty"`
	// IsPublic tells whether all projects can use the flavor.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="isPublic is immutable"
	IsPublic *bool `json:"isPublic,omitempty"`
	// Ephemeral is the size in GB of a disk that is deleted together with its server.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ephemeral is immutable"
	Ephemeral *int32 `json:"ephemeral,omitempty"`
	// ExtraSpecs are key-value pairs for the scheduler and the hypervisor.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	ExtraSpecs []FlavorExtraSpec `json:"extraSpecs,omitempty"`
}

// FlavorExtraSpec is a key-value pair for the scheduler and the hypervisor.
type FlavorExtraSpec struct {
	// Name of the extra spec.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-_:. ]+$`
	Name string `json:"name"`
	// Value of the extra spec.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// FlavorResourceStatus is the state of a flavor that OpenStack last reported. The values are not
// validated.
type FlavorResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=65535
	Description string `json:"description,omitempty"`
	// RAM in MB.
	// +optional
	RAM *int32 `json:"ram"`
	// Vcpus is the number of processors.
	// +optional
	Vcpus *int32 `json:"vcpus"`
	// Disk is the size of the root disk in GB.
	// +optional
	Disk *int32 `json:"disk"`
	// Swap is the size of the swap space in MB.
	// +optional
	Swap *int32 `json:"swap,omitempty"`
	// IsPublic tells whether all projects can use the flavor.
	// +optional
	IsPublic *bool `json:"isPublic"`
	// Ephemeral is the size in GB of a disk that is deleted together with its server.
	// +optional
	Ephemeral *int32 `json:"ephemeral,omitempty"`
	// ExtraSpecs are key-value pairs for the scheduler and the hypervisor.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExtraSpecs []FlavorExtraSpecStatus `json:"extraSpecs,omitempty"`
}

// FlavorExtraSpecStatus is a key-value pair for the scheduler and the hypervisor.
type FlavorExtraSpecStatus struct {
	// Name of the extra spec.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Value of the extra spec.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
