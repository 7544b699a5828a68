package v1alpha1

// ImageTag is a tag of an image.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type ImageTag string

// ImageFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type ImageFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Visibility tells which projects can use the image.
	// +optional
	// +kubebuilder:validation:Enum=public;private;shared;community
	Visibility *string `json:"visibility,omitempty"`
	// Tags matches resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []ImageTag `json:"tags,omitempty"`
}

// ImageResourceSpec is the desired state of an image.
//
// +kubebuilder:validation:XValidation:rule="has(self.properties) == has(oldSelf.properties)",message="properties can't be added or removed: immutable"
// +kubebuilder:validation:XValidation:rule="has(self.content) == has(oldSelf.content)",message="content can't be added or removed: immutable"
type ImageResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Protected tells whether OpenStack refuses to delete the image.
	// +optional
	Protected *bool `json:"protected,omitempty"`
	// Tags of the image.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []ImageTag `json:"tags,omitempty"`
	// Visibility tells which projects can use the image.
	// +optional
	// +kubebuilder:validation:Enum=public;private;shared;community
	Visibility *string `json:"visibility,omitempty"`
	// Properties configure the servers that are created from the image.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="properties is immutable"
	Properties *ImageProperties `json:"properties,omitempty"`
	// Content tells where the data of the image comes from.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="content is immutable"
	Content *ImageContent `json:"content,omitempty"`
}

// ImageContent tells where the data of an image comes from.
type ImageContent struct {
	// ContainerFormat is the file format around the disk, such as bare.
	// +optional
	// +kubebuilder:default=bare
	// +kubebuilder:validation:Enum=ami;ari;aki;bare;ovf;ova;docker;compressed
	ContainerFormat string `json:"containerFormat,omitempty"`
	// DiskFormat of the disk.
	// +kubebuilder:validation:Enum=ami;ari;aki;vhd;vhdx;vmdk;raw;qcow2;vdi;ploop;iso
	DiskFormat string `json:"diskFormat"`
	// Download tells where OpenStack or the operator downloads the content.
	Download ImageDownload `json:"download"`
}

// ImageDownload tells where the content of an image is downloaded.
type ImageDownload struct {
	// URL of the content.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`
	// Decompress is the compression that the operator undoes before the upload.
	// +optional
	// +kubebuilder:validation:Enum=xz;gz;bz2
	Decompress *string `json:"decompress,omitempty"`
	// Hash that the downloaded content must have before Decompress is applied.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="hash is immutable"
	Hash *ImageHash `json:"hash,omitempty"`
}

// ImageHash is the expected hash of a content.
type ImageHash struct {
	// Algorithm of the hash.
	// +kubebuilder:validation:Enum=md5;sha1;sha256;sha512
	Algorithm string `json:"algorithm"`
	// Value of the hash, in hexadecimal digits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	Value string `json:"value"`
}

// ImageProperties configure the servers that are created from an image.
type ImageProperties struct {
	// Architecture of the processors.
	// +optional
	// +kubebuilder:validation:Enum=aarch64;alpha;armv7l;cris;i686;ia64;lm32;m68k;microblaze;microblazeel;mips;mipsel;mips64;mips64el;openrisc;parisc;parisc64;ppc;ppc64;ppcemb;s390;s390x;sh4;sh4eb;sparc;sparc64;unicore32;x86_64;xtensa;xtensaeb
	Architecture *string `json:"architecture,omitempty"`
	// HypervisorType that servers must run on.
	// +optional
	// +kubebuilder:validation:Enum=hyperv;ironic;lxc;qemu;uml;vmware;xen
	HypervisorType *string `json:"hypervisorType,omitempty"`
	// MinDiskGB is the minimum size of disks.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinDiskGB *int32 `json:"minDiskGB,omitempty"`
	// MinMemoryMB is the minimum memory of servers.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinMemoryMB *int32 `json:"minMemoryMB,omitempty"`
	// Hardware that servers get.
	// +optional
	Hardware *ImageHardware `json:"hardware,omitempty"`
	// OperatingSystem of the image.
	// +optional
	OperatingSystem *ImageOperatingSystem `json:"operatingSystem,omitempty"`
}

// ImageOperatingSystem is the operating system of an image.
type ImageOperatingSystem struct {
	// Distro is the distribution, such as ubuntu.
	// +optional
	// +kubebuilder:validation:Enum=arch;centos;debian;fedora;freebsd;gentoo;mandrake;mandriva;mes;msdos;netbsd;netware;openbsd;opensolaris;opensuse;rocky;rhel;sled;ubuntu;windows
	Distro *string `json:"distro,omitempty"`
	// Version of the distribution.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Version *string `json:"version,omitempty"`
}

// ImageHardware is the hardware that servers get which are created from an image.
type ImageHardware struct {
	// CPUSockets is the number of CPU sockets.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CPUSockets *int32 `json:"cpuSockets,omitempty"`
	// CPUCores is the number of cores of a CPU socket.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CPUCores *int32 `json:"cpuCores,omitempty"`
	// CPUThreads is the number of threads of a CPU core.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CPUThreads *int32 `json:"cpuThreads,omitempty"`
	// CPUPolicy tells whether processors are shared or dedicated.
	// +optional
	// +kubebuilder:validation:Enum=shared;dedicated
	CPUPolicy *string `json:"cpuPolicy,omitempty"`
	// CPUThreadPolicy tells how threads of a CPU core are shared.
	// +optional
	// +kubebuilder:validation:Enum=prefer;isolate;require
	CPUThreadPolicy *string `json:"cpuThreadPolicy,omitempty"`
	// CdromBus is the bus of CD drives.
	// +optional
	// +kubebuilder:validation:Enum=scsi;virtio;uml;xen;ide;usb;lxc
	CdromBus *string `json:"cdromBus,omitempty"`
	// DiskBus is the bus of disks.
	// +optional
	// +kubebuilder:validation:Enum=scsi;virtio;uml;xen;ide;usb;lxc
	DiskBus *string `json:"diskBus,omitempty"`
	// SCSIModel is the model of SCSI controllers.
	// +optional
	// +kubebuilder:validation:Enum=virtio-scsi
	SCSIModel *string `json:"scsiModel,omitempty"`
	// VIFModel is the model of network cards.
	// +optional
	// +kubebuilder:validation:Enum=e1000;e1000e;ne2k_pci;pcnet;rtl8139;virtio;vmxnet3
	VIFModel *string `json:"vifModel,omitempty"`
	// RngModel is the model of the random number generator.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	RngModel *string `json:"rngModel,omitempty"`
	// QemuGuestAgent tells whether the QEMU guest agent is installed in the image.
	// +optional
	QemuGuestAgent *bool `json:"qemuGuestAgent,omitempty"`
}

// ImageResourceStatus is the state of an image that OpenStack last reported. The values are not
// validated.
type ImageResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Status of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Status string `json:"status"`
	// Protected tells whether OpenStack refuses to delete the image.
	// +optional
	Protected *bool `json:"protected"`
	// Visibility tells which projects can use the image.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Visibility string `json:"visibility"`
	// Hash of the content, as it is stored.
	// +optional
	Hash *ImageHashStatus `json:"hash,omitempty"`
	// SizeB is the stored size in bytes.
	// +optional
	SizeB *int64 `json:"sizeB"`
	// VirtualSizeB is the size in bytes of a disk that is created from the image.
	// +optional
	VirtualSizeB *int64 `json:"virtualSizeB,omitempty"`
	// Tags of the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	Tags []string `json:"tags,omitempty"`
}

// ImageHashStatus is the hash of the stored content.
type ImageHashStatus struct {
	// Algorithm of the hash.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Algorithm string `json:"algorithm"`
	// Value of the hash, in hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}
