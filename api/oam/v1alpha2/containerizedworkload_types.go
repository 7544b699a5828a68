package v1alpha2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ContainerizedWorkloadSpec is a list of containers.
type ContainerizedWorkloadSpec struct {
	// OperatingSystem of the nodes.
	// +optional
	// +kubebuilder:validation:Enum=linux;windows
	OperatingSystem *string `json:"osType,omitempty"`
	// CPUArchitecture of the nodes.
	// +optional
	// +kubebuilder:validation:Enum=i386;amd64;arm;arm64
	CPUArchitecture *string `json:"arch,omitempty"`
	// +kubebuilder:validation:MaxItems=64
	Containers []Container `json:"containers"`
}

// Container is a container of a workload.
type Container struct {
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=4096
	Image string `json:"image"`
	// +optional
	Resources *ContainerResources `json:"resources,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=65536
	Command []string `json:"command,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=65536
	Arguments []string `json:"args,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Environment []ContainerEnvVar `json:"env,omitempty"`
	// ConfigFiles are files in the container.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ConfigFiles []ContainerConfigFile `json:"config,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Ports []ContainerPort `json:"ports,omitempty"`
	// +optional
	LivenessProbe *ContainerHealthProbe `json:"livenessProbe,omitempty"`
	// +optional
	ReadinessProbe *ContainerHealthProbe `json:"readinessProbe,omitempty"`
	// ImagePullSecret names a Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ImagePullSecret *string `json:"imagePullSecret,omitempty"`
}

// ContainerResources are the resources that a container requires.
type ContainerResources struct {
	CPU    CPUResources    `json:"cpu"`
	Memory MemoryResources `json:"memory"`
	// +optional
	GPU *GPUResources `json:"gpu,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Volumes []VolumeResource `json:"volumes,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Extended []ExtendedResource `json:"extended,omitempty"`
}

// CPUResources is an amount of CPU.
type CPUResources struct {
	Required resource.Quantity `json:"required"`
}

// MemoryResources is an amount of memory.
type MemoryResources struct {
	Required resource.Quantity `json:"required"`
}

// GPUResources is an amount of GPUs.
type GPUResources struct {
	Required resource.Quantity `json:"required"`
}

// VolumeResource is a volume in a container.
type VolumeResource struct {
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=4096
	MountPath string `json:"mountPath"`
	// +optional
	// +kubebuilder:validation:Enum=RO;RW
	AccessMode *string `json:"accessMode,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=Exclusive;Shared
	SharingPolicy *string `json:"sharingPolicy,omitempty"`
	// +optional
	Disk *DiskResource `json:"disk,omitempty"`
}

// DiskResource is an amount of disk.
type DiskResource struct {
	Required resource.Quantity `json:"required"`
	// +optional
	Ephemeral *bool `json:"ephemeral,omitempty"`
}

// ExtendedResource is a resource of another kind, such as example.com/dongle.
type ExtendedResource struct {
	// +kubebuilder:validation:MaxLength=316
	Name     string             `json:"name"`
	Required intstr.IntOrString `json:"required"`
}

// SecretKeySelector names a key of a Secret.
type SecretKeySelector struct {
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ContainerEnvVar is a variable of the environment.
type ContainerEnvVar struct {
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=^[-_a-zA-Z0-9]+$
	Name string `json:"name"`
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Value *string `json:"value,omitempty"`
	// +optional
	FromSecret *SecretKeySelector `json:"fromSecret,omitempty"`
}

// ContainerConfigFile is a file in the container.
type ContainerConfigFile struct {
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Value *string `json:"value,omitempty"`
	// +optional
	FromSecret *SecretKeySelector `json:"fromSecret,omitempty"`
}

// ContainerPort is a port of a container.
type ContainerPort struct {
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=^[a-z]+$
	Name string `json:"name"`
	Port int32  `json:"containerPort"`
	// +optional
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol *string `json:"protocol,omitempty"`
}

// ContainerHealthProbe says how a container is probed. Times are in seconds.
type ContainerHealthProbe struct {
	// +optional
	Exec *ExecProbe `json:"exec,omitempty"`
	// +optional
	HTTPGet *HTTPGetProbe `json:"httpGet,omitempty"`
	// +optional
	TCPSocket *TCPSocketProbe `json:"tcpSocket,omitempty"`
	// +optional
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
	// +optional
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// ExecProbe runs a command in the container.
type ExecProbe struct {
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=65536
	Command []string `json:"command"`
}

// HTTPGetProbe sends a request to the container.
type HTTPGetProbe struct {
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	Port int32  `json:"port"`
	// +optional
	// +kubebuilder:validation:MaxItems=64
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`
}

// HTTPHeader is a header of a request.
type HTTPHeader struct {
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=8192
	Value string `json:"value"`
}

// TCPSocketProbe connects to a port of the container.
type TCPSocketProbe struct {
	Port int32 `json:"port"`
}

// ContainerizedWorkloadStatus is the observed state of a ContainerizedWorkload.
type ContainerizedWorkloadStatus struct {
	ConditionedStatus `json:",inline"`
	// Resources are the Deployment and the Service of the workload.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Resources []TypedReference `json:"resources,omitempty"`
}

// ContainerizedWorkload is a Deployment with a Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,oam}
type ContainerizedWorkload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ContainerizedWorkloadSpec   `json:"spec,omitempty"`
	Status ContainerizedWorkloadStatus `json:"status,omitempty"`
}

// ContainerizedWorkloadList is a list of ContainerizedWorkloads.
//
// +kubebuilder:object:root=true
type ContainerizedWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerizedWorkload `json:"items"`
}
