package v1alpha1

// VolumeTypeFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type VolumeTypeFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// IsPublic tells whether all projects may use the volume type.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeResourceSpec is the desired state of a volume type.
type VolumeTypeResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// ExtraSpecs choose and configure the storage backend of the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ExtraSpecs []VolumeTypeExtraSpec `json:"extraSpecs,omitempty"`
	// IsPublic tells whether all projects may use the volume type. Defaults to true.
	// +optional
	IsPublic *bool `json:"isPublic,omitempty"`
}

// VolumeTypeExtraSpec is a key-value pair for the storage backend.
type VolumeTypeExtraSpec struct {
	// Name of the pair.
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Value of the pair.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// VolumeTypeResourceStatus is the state of a volume type that OpenStack last reported. The values
// are not validated.
type VolumeTypeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// ExtraSpecs choose and configure the storage backend of the volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ExtraSpecs []VolumeTypeExtraSpecStatus `json:"extraSpecs,omitempty"`
	// IsPublic tells whether all projects may use the volume type.
	// +optional
	IsPublic *bool `json:"isPublic"`
}

// VolumeTypeExtraSpecStatus is a key-value pair for the storage backend.
type VolumeTypeExtraSpecStatus struct {
	// Name of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Value of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
