package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// Server is a virtual machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type Server struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServerSpec `json:"spec"`
	// +optional
	Status ServerStatus `json:"status,omitempty"`
}

// ServerList is a list of Server objects.
//
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Server `json:"items"`
}

// ServerSpec says what a virtual machine should be, or which one is meant.
type ServerSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object stands for.
	// +optional
	Import *ServerImport `json:"import,omitempty"`
	// Adopt finds an existing resource that is managed from now on, instead of one
	// that would be created.
	// +optional
	Adopt *ServerImport `json:"adopt,omitempty"`
	// Resource is what the resource should be.
	// +optional
	Resource *ServerResourceSpec `json:"resource,omitempty"`
}

// ServerImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerImport struct {
	// ID of the resource.
	// +optional
	ID *UUID `json:"id,omitempty"`
	// Filter that exactly one resource matches.
	// +optional
	Filter *ServerFilter `json:"filter,omitempty"`
}

// ServerFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServerFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// AvailabilityZone that it is in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AvailabilityZone *string `json:"availabilityZone,omitempty"`

	FilterByServerTags `json:",inline"`
}

// FilterByServerTags finds virtual machines by their tags.
type FilterByServerTags struct {
	// Tags that a resource must have, all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Tags []ServerTag `json:"tags,omitempty"`
	// TagsAny are tags of which a resource must have at least one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	TagsAny []ServerTag `json:"tagsAny,omitempty"`
	// NotTags are tags that a resource may have in part, but not all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	NotTags []ServerTag `json:"notTags,omitempty"`
	// NotTagsAny are tags of which a resource may have none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	NotTagsAny []ServerTag `json:"notTagsAny,omitempty"`
}

// ServerTag is a tag of a virtual machine.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=80
type ServerTag string

// ServerResourceSpec says what a virtual machine should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.imageRef) || has(self.bootVolume)",message="either imageRef or bootVolume must be specified"
// +kubebuilder:validation:XValidation:rule="!(has(self.imageRef) && has(self.bootVolume))",message="imageRef and bootVolume are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.imageRef) == has(oldSelf.imageRef) && has(self.bootVolume) == has(oldSelf.bootVolume) && has(self.availabilityZone) == has(oldSelf.availabilityZone) && has(self.keypairRef) == has(oldSelf.keypairRef) && has(self.userData) == has(oldSelf.userData) && has(self.configDrive) == has(oldSelf.configDrive) && has(self.schedulerHints) == has(oldSelf.schedulerHints)",message="imageRef, bootVolume, availabilityZone, keypairRef, userData, configDrive and schedulerHints can't be added or removed: immutable"
type ServerResourceSpec struct {
	// Name of the resource. Left out, it is the name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ImageRef names the Image that it starts from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="imageRef is immutable"
	ImageRef *KubernetesNameRef `json:"imageRef,omitempty"`
	// BootVolume is the disk that it starts from, instead of an image.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bootVolume is immutable"
	BootVolume *ServerBootVolume `json:"bootVolume,omitempty"`
	// FlavorRef names the Flavor, which says how large it is.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="flavorRef is immutable"
	FlavorRef KubernetesNameRef `json:"flavorRef"`
	// UserData is handed to it at its first start.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="userData is immutable"
	UserData *ServerUserData `json:"userData,omitempty"`
	// Ports that it is plugged into.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ports []ServerPort `json:"ports"`
	// Volumes that are attached to it, besides the one that it starts from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Volumes []ServerVolume `json:"volumes,omitempty"`
	// AvailabilityZone that it should be in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZone is immutable"
	AvailabilityZone *string `json:"availabilityZone,omitempty"`
	// KeypairRef names the KeyPair that opens it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="keypairRef is immutable"
	KeypairRef *KubernetesNameRef `json:"keypairRef,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Tags []ServerTag `json:"tags,omitempty"`
	// Metadata are pairs that it can read itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Metadata []ServerMetadata `json:"metadata,omitempty"`
	// ConfigDrive has what it is told be on a disk as well.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="configDrive is immutable"
	ConfigDrive *bool `json:"configDrive,omitempty"`
	// SchedulerHints say where it should run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="schedulerHints is immutable"
	SchedulerHints *ServerSchedulerHints `json:"schedulerHints,omitempty"`
}

// ServerBootVolume is a disk that a virtual machine starts from.
type ServerBootVolume struct {
	// VolumeRef names the Volume, which must be bootable.
	VolumeRef KubernetesNameRef `json:"volumeRef"`
	// Tag by which the virtual machine can tell it from others.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Tag *string `json:"tag,omitempty"`
}

// ServerUserData is handed to a virtual machine at its first start.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerUserData struct {
	// SecretRef names the Secret whose key value is handed over.
	// +optional
	SecretRef *KubernetesNameRef `json:"secretRef,omitempty"`
}

// ServerPort is where a virtual machine is plugged in.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerPort struct {
	// PortRef names the Port.
	// +optional
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
}

// ServerVolume is a disk that is attached to a virtual machine.
//
// +kubebuilder:validation:MinProperties=1
type ServerVolume struct {
	// VolumeRef names the Volume.
	VolumeRef KubernetesNameRef `json:"volumeRef"`
	// Device is what the virtual machine should call it, which not all do.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Device *string `json:"device,omitempty"`
}

// ServerMetadata is a pair that a virtual machine can read.
type ServerMetadata struct {
	// Key of the pair.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
	// Value of the pair.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// ServerSchedulerHints say where a virtual machine should run.
type ServerSchedulerHints struct {
	// ServerGroupRef names the ServerGroup whose rule it follows.
	// +optional
	ServerGroupRef *KubernetesNameRef `json:"serverGroupRef,omitempty"`
	// DifferentHostServerRefs name Servers on whose hosts it should not run.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DifferentHostServerRefs []KubernetesNameRef `json:"differentHostServerRefs,omitempty"`
	// SameHostServerRefs name Servers on one of whose hosts it should run.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	SameHostServerRefs []KubernetesNameRef `json:"sameHostServerRefs,omitempty"`
	// Query is a condition on hosts, in JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Query *string `json:"query,omitempty"`
	// TargetCell is the cell to run in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	TargetCell *string `json:"targetCell,omitempty"`
	// DifferentCell are cells not to run in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	DifferentCell []string `json:"differentCell,omitempty"`
	// BuildNearHostIP is the address range of the hosts to run on.
	// +optional
	BuildNearHostIP *CIDR `json:"buildNearHostIP,omitempty"`
	// AdditionalProperties are hints that only some clouds know.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 255)",message="names of additionalProperties have at most 255 characters"
	AdditionalProperties map[string]ServerHint `json:"additionalProperties,omitempty"`
}

// ServerHint is the value of a hint.
//
// +kubebuilder:validation:MaxLength=1024
type ServerHint string

// ServerStatus is what is known of a virtual machine.
type ServerStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is what OpenStack last said of the resource.
	// +optional
	Resource *ServerResourceStatus `json:"resource,omitempty"`
}

// ServerResourceStatus is a virtual machine as OpenStack last described it. Nothing of
// it is validated.
type ServerResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// HostID is the host that it runs on: its name, for those who may see it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	HostID string `json:"hostID"`
	// Status of the virtual machine.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// ImageID is the image that it started from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ImageID string `json:"imageID,omitempty"`
	// AvailabilityZone that it is in.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AvailabilityZone string `json:"availabilityZone"`
	// ServerGroups are the ids of the groups that it belongs to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	ServerGroups []string `json:"serverGroups,omitempty"`
	// Volumes that are attached to it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Volumes []ServerVolumeStatus `json:"volumes,omitempty"`
	// Interfaces that it is plugged in with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Interfaces []ServerInterfaceStatus `json:"interfaces,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
	// Metadata are pairs that it can read itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Metadata []ServerMetadataStatus `json:"metadata,omitempty"`
	// ConfigDrive says whether what it is told is on a disk as well.
	// +optional
	ConfigDrive *bool `json:"configDrive"`
}

// ServerVolumeStatus is a disk that is attached.
type ServerVolumeStatus struct {
	// ID of the disk.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
}

// ServerInterfaceStatus is where a virtual machine is plugged in.
type ServerInterfaceStatus struct {
	// PortID is the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// NetID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetID string `json:"netID"`
	// MACAddr is its hardware address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MACAddr string `json:"macAddr"`
	// PortState is the status of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortState string `json:"portState"`
	// FixedIPs that it has.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	FixedIPs []ServerInterfaceFixedIPStatus `json:"fixedIPs,omitempty"`
}

// ServerInterfaceFixedIPStatus is an address of a virtual machine.
type ServerInterfaceFixedIPStatus struct {
	// IPAddress is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPAddress string `json:"ipAddress"`
	// SubnetID is where it is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID"`
}

// ServerMetadataStatus is a pair that a virtual machine can read.
type ServerMetadataStatus struct {
	// Key of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key"`
	// Value of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// GetCommonSpec returns what all kinds have in common.
func (s *Server) GetCommonSpec() *CommonSpec { return &s.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (s *Server) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &s.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (s *Server) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &s.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (s *Server) GetImport() (id string, asked bool) {
	i := cmp.Or(s.Spec.Import, s.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return string(*i.ID), true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (s *Server) GetFilter() *ServerFilter {
	if i := cmp.Or(s.Spec.Import, s.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (s *Server) GetResource() *ServerResourceSpec { return s.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (s *Server) GetResourceName() string {
	if r := s.Spec.Resource; r != nil && r.Name != nil {
		return string(*r.Name)
	}
	return s.Name
}
