package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Volume is a disk.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Volume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VolumeSpec `json:"spec"`
	// +optional
	Status VolumeStatus `json:"status,omitempty"`
}

// VolumeList is a list of Volume objects.
//
// +kubebuilder:object:root=true
type VolumeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Volume `json:"items"`
}

// VolumeSpec describes a volume: the desired state in Resource, or an existing resource in Import.
type VolumeSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *VolumeImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *VolumeImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *VolumeResourceSpec `json:"resource,omitempty"`
}

// VolumeImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type VolumeImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *VolumeFilter `json:"filter,omitempty"`
}

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

// VolumeStatus is the observed state of a volume.
type VolumeStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *VolumeResourceStatus `json:"resource,omitempty"`
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

// GetCommonSpec returns what all kinds have in common.
func (v *Volume) GetCommonSpec() *CommonSpec { return &v.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (v *Volume) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &v.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (v *Volume) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &v.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (v *Volume) GetImport() (id string, asked bool) {
	i := cmp.Or(v.Spec.Import, v.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (v *Volume) GetFilter() *VolumeFilter {
	if i := cmp.Or(v.Spec.Import, v.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (v *Volume) GetResource() *VolumeResourceSpec { return v.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (v *Volume) GetResourceName() string {
	if r := v.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return v.Name
}
