package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VolumeFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type VolumeFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Size in GiB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Size *int32 `json:"size,omitempty"`
	// AvailabilityZone that the resource is in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AvailabilityZone *string `json:"availabilityZone,omitempty"`
}

// VolumeResourceSpec is the desired state of a volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.volumeTypeRef) == has(oldSelf.volumeTypeRef) && has(self.availabilityZone) == has(oldSelf.availabilityZone) && has(self.imageRef) == has(oldSelf.imageRef) && has(self.metadata) == has(oldSelf.metadata)",message="volumeTypeRef, availabilityZone, imageRef and metadata can't be added or removed: immutable"
type VolumeResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Description of the resource.
	// +optional
	Description *OpenStackDescription `json:"description,omitempty"`
	// Size in GiB.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="size is immutable"
	Size int32 `json:"size"`
	// VolumeTypeRef names the VolumeType. Defaults to the volume type of the cloud.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="volumeTypeRef is immutable"
	VolumeTypeRef *KubernetesNameRef `json:"volumeTypeRef,omitempty"`
	// AvailabilityZone that the resource should be in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZone is immutable"
	AvailabilityZone *string `json:"availabilityZone,omitempty"`
	// ImageRef names the Image that is copied to the volume.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="imageRef is immutable"
	ImageRef *KubernetesNameRef `json:"imageRef,omitempty"`
	// Metadata are key-value pairs of the volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="metadata is immutable"
	Metadata []VolumeMetadata `json:"metadata,omitempty"`
}

// VolumeMetadata is a key-value pair of a volume.
type VolumeMetadata struct {
	// Name of the pair.
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Value of the pair.
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// VolumeResourceStatus is the state of a volume that OpenStack last reported. The values are not
// validated.
type VolumeResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Description of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// Size in GiB.
	// +optional
	Size *int32 `json:"size"`
	// Status of the volume, such as available or in-use.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// AvailabilityZone that the resource is in.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Attachments are the servers that the volume is attached to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Attachments []VolumeAttachmentStatus `json:"attachments,omitempty"`
	// VolumeType is the name of the volume type.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	VolumeType string `json:"volumeType"`
	// SnapshotID is the snapshot that the volume was created from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SnapshotID string `json:"snapshotID,omitempty"`
	// SourceVolID is the volume that the volume was created from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SourceVolID string `json:"sourceVolID,omitempty"`
	// BackupID is the backup that the volume was created from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	BackupID string `json:"backupID,omitempty"`
	// Metadata are key-value pairs of the volume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Metadata []VolumeMetadataStatus `json:"metadata,omitempty"`
	// UserID is the user that created the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserID string `json:"userID"`
	// Bootable tells whether a server can boot from the volume.
	// +optional
	Bootable *bool `json:"bootable,omitempty"`
	// Encrypted tells whether the content is encrypted.
	// +optional
	Encrypted *bool `json:"encrypted"`
	// ReplicationStatus is the status of the volume's replication.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ReplicationStatus string `json:"replicationStatus,omitempty"`
	// ConsistencyGroupID is the consistency group of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ConsistencyGroupID string `json:"consistencyGroupID,omitempty"`
	// Multiattach tells whether several servers may attach the volume at once.
	// +optional
	Multiattach *bool `json:"multiattach"`
	// ImageID is the image that was copied to the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ImageID string `json:"imageID,omitempty"`
	// Host is the storage backend of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Host string `json:"host,omitempty"`
	// ProjectID is the project that the resource belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ProjectID string `json:"projectID,omitempty"`
	// CreatedAt is when the resource was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// UpdatedAt is when the resource was last changed.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
}

// VolumeAttachmentStatus is a server that a volume is attached to.
type VolumeAttachmentStatus struct {
	// AttachmentID is the id of the attachment.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AttachmentID string `json:"attachmentID"`
	// ServerID is the server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ServerID string `json:"serverID"`
	// Device is the device name inside the server, such as /dev/vdb.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Device string `json:"device"`
	// AttachedAt is when the volume was attached.
	// +optional
	AttachedAt *metav1.Time `json:"attachedAt,omitempty"`
}

// VolumeMetadataStatus is a key-value pair of a volume.
type VolumeMetadataStatus struct {
	// Name of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Value of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
