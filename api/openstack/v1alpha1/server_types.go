package v1alpha1

// ServerFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ServerFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// AvailabilityZone that the resource is in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AvailabilityZone *string `json:"availabilityZone,omitempty"`

	FilterByServerTags `json:",inline"`
}

// FilterByServerTags finds servers by their tags.
type FilterByServerTags struct {
	// Tags matches resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Tags []ServerTag `json:"tags,omitempty"`
	// TagsAny matches resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	TagsAny []ServerTag `json:"tagsAny,omitempty"`
	// NotTags leaves out resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	NotTags []ServerTag `json:"notTags,omitempty"`
	// NotTagsAny leaves out resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	NotTagsAny []ServerTag `json:"notTagsAny,omitempty"`
}

// ServerTag is a tag of a server.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=80
type ServerTag string

// ServerResourceSpec is the desired state of a server.
//
// +kubebuilder:validation:XValidation:rule="has(self.imageRef) || has(self.bootVolume)",message="either imageRef or bootVolume must be specified"
// +kubebuilder:validation:XValidation:rule="!(has(self.imageRef) && has(self.bootVolume))",message="imageRef and bootVolume are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.imageRef) == has(oldSelf.imageRef) && has(self.bootVolume) == has(oldSelf.bootVolume) && has(self.availabilityZone) == has(oldSelf.availabilityZone) && has(self.keypairRef) == has(oldSelf.keypairRef) && has(self.userData) == has(oldSelf.userData) && has(self.configDrive) == has(oldSelf.configDrive) && has(self.schedulerHints) == has(oldSelf.schedulerHints)",message="imageRef, bootVolume, availabilityZone, keypairRef, userData, configDrive and schedulerHints can't be added or removed: immutable"
type ServerResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// ImageRef names the Image that the server boots from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="imageRef is immutable"
	ImageRef *KubernetesNameRef `json:"imageRef,omitempty"`
	// BootVolume is the Volume that the server boots from, instead of an Image.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bootVolume is immutable"
	BootVolume *ServerBootVolume `json:"bootVolume,omitempty"`
	// FlavorRef names the Flavor, which is the size of the server.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="flavorRef is immutable"
	FlavorRef KubernetesNameRef `json:"flavorRef"`
	// UserData is given to the server at its first start.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="userData is immutable"
	UserData *ServerUserData `json:"userData,omitempty"`
	// Ports of the server.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ports []ServerPort `json:"ports"`
	// Volumes that are attached to the server, besides BootVolume.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Volumes []ServerVolume `json:"volumes,omitempty"`
	// AvailabilityZone that the resource should be in.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="availabilityZone is immutable"
	AvailabilityZone *string `json:"availabilityZone,omitempty"`
	// KeypairRef names the KeyPair that the server accepts for logins.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="keypairRef is immutable"
	KeypairRef *KubernetesNameRef `json:"keypairRef,omitempty"`
	// Tags of the resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Tags []ServerTag `json:"tags,omitempty"`
	// Metadata are key-value pairs that the server can read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Metadata []ServerMetadata `json:"metadata,omitempty"`
	// ConfigDrive offers metadata and user data on a disk as well.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="configDrive is immutable"
	ConfigDrive *bool `json:"configDrive,omitempty"`
	// SchedulerHints tell the scheduler where the server should run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="schedulerHints is immutable"
	SchedulerHints *ServerSchedulerHints `json:"schedulerHints,omitempty"`
}

// ServerBootVolume is the Volume that a server boots from.
type ServerBootVolume struct {
	// VolumeRef names the Volume, which must be bootable.
	VolumeRef KubernetesNameRef `json:"volumeRef"`
	// Tag that identifies the device inside the server.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Tag *string `json:"tag,omitempty"`
}

// ServerUserData is given to a server at its first start.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerUserData struct {
	// SecretRef names the Secret. Key value holds the user data.
	// +optional
	SecretRef *KubernetesNameRef `json:"secretRef,omitempty"`
}

// ServerPort is a port of a server.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ServerPort struct {
	// PortRef names the Port.
	// +optional
	PortRef *KubernetesNameRef `json:"portRef,omitempty"`
}

// ServerVolume is a Volume that is attached to a server.
//
// +kubebuilder:validation:MinProperties=1
type ServerVolume struct {
	// VolumeRef names the Volume.
	VolumeRef KubernetesNameRef `json:"volumeRef"`
	// Device is the wanted device name inside the server, such as /dev/vdb. Not every hypervisor
	// honours the name.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Device *string `json:"device,omitempty"`
}

// ServerMetadata is a key-value pair that a server can read.
type ServerMetadata struct {
	// Key of the key-value pair.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
	// Value of the pair.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Value string `json:"value"`
}

// ServerSchedulerHints tell the scheduler where a server should run.
type ServerSchedulerHints struct {
	// ServerGroupRef names the ServerGroup that the server belongs to.
	// +optional
	ServerGroupRef *KubernetesNameRef `json:"serverGroupRef,omitempty"`
	// DifferentHostServerRefs name Servers. The server should not run on a host of these Servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DifferentHostServerRefs []KubernetesNameRef `json:"differentHostServerRefs,omitempty"`
	// SameHostServerRefs name Servers. The server should run on a host of these Servers.
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

// ServerResourceStatus is the state of a server that OpenStack last reported. The values are not
// validated.
type ServerResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// HostID is the host that the server runs on: its name if the credentials may see the name,
	// else a hash.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	HostID string `json:"hostID"`
	// Status of the server, such as ACTIVE.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// ImageID is the image that the server booted from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ImageID string `json:"imageID,omitempty"`
	// AvailabilityZone that the resource is in.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AvailabilityZone string `json:"availabilityZone"`
	// ServerGroups are the ids of the server groups that the server belongs to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	ServerGroups []string `json:"serverGroups,omitempty"`
	// Volumes that are attached to the server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Volumes []ServerVolumeStatus `json:"volumes,omitempty"`
	// Interfaces are the ports of the server.
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
	// Metadata are key-value pairs that the server can read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Metadata []ServerMetadataStatus `json:"metadata,omitempty"`
	// ConfigDrive tells whether metadata and user data are on a disk as well.
	// +optional
	ConfigDrive *bool `json:"configDrive"`
}

// ServerVolumeStatus is a volume that is attached to a server.
type ServerVolumeStatus struct {
	// ID of the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id"`
}

// ServerInterfaceStatus is a port of a server.
type ServerInterfaceStatus struct {
	// PortID is the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortID string `json:"portID"`
	// NetID is the network.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NetID string `json:"netID"`
	// MACAddr is the hardware address of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MACAddr string `json:"macAddr"`
	// PortState is the status of the port.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PortState string `json:"portState"`
	// FixedIPs are the addresses of the port.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	FixedIPs []ServerInterfaceFixedIPStatus `json:"fixedIPs,omitempty"`
}

// ServerInterfaceFixedIPStatus is an address of a server.
type ServerInterfaceFixedIPStatus struct {
	// IPAddress is the address.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IPAddress string `json:"ipAddress"`
	// SubnetID is the subnet that the address is from.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID"`
}

// ServerMetadataStatus is a key-value pair that a server can read.
type ServerMetadataStatus struct {
	// Key of the key-value pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key"`
	// Value of the pair.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
