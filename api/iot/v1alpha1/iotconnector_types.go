package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Shapes of an IotConnector's spec.
const (
	// Version0 has containers, which share one Deployment.
	Version0 int32 = 0
	// Version1 has deployments, each with its own containers.
	Version1 int32 = 1
)

// Bounds of a spec, for those who check before they write.
const (
	MaxDeployments = 64
	MaxContainers  = 16
	// MaxPreviousSpec is how many bytes the annotation with the previous spec may
	// have.
	MaxPreviousSpec = 128 << 10
)

// AnnotationPreviousSpec holds the spec, as JSON, that an IotConnector had before
// it was upgraded. It serves rollback and people; what is deleted never depends on
// it.
const AnnotationPreviousSpec = "services.azurehealthcareapis.com/previous-spec"

// AnnotationRelease says which release has changed an IotConnector last, by uid, and to
// what generation. What becomes of that generation counts for the release.
const AnnotationRelease = "services.azurehealthcareapis.com/release"

// IotConnector reads device data and hands it to destinations. It is made of Deployments, which are created, updated and removed with its spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=iotc
// +kubebuilder:printcolumn:name="VERSION",type="integer",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name of an IotConnector may have at most 63 characters: it becomes a label"
type IotConnector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IotConnectorSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={}
	Status IotConnectorStatus `json:"status,omitempty"`
}

// IotConnectorList is a list of IotConnectors.
//
// +kubebuilder:object:root=true
type IotConnectorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IotConnector `json:"items"`
}

// IotConnectorSpec says what an IotConnector is made of.
//
// Source: seed 2, sections "Approach 2" and "Upgrading".
//
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || !has(self.deployments)",message="give either \"spec.containers\" (version 0) or \"spec.deployments\" (version 1), not both"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || self.version != 0 || !has(self.deployments)",message="\"spec.deployments\" belongs to version 1, and \"spec.version\" is 0"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || self.version != 1 || !has(self.containers)",message="\"spec.containers\" belongs to version 0, and \"spec.version\" is 1: list it under \"spec.deployments\""
// +kubebuilder:validation:XValidation:rule="has(self.deployments) || has(self.containers) || (has(self.version) && self.version == 1)",message="a version 0 IotConnector needs \"spec.containers\""
type IotConnectorSpec struct {
	// Version is the shape that the spec has now. Without it the shape speaks for
	// itself: deployments mean 1, else it is 0.
	// +optional
	// +kubebuilder:validation:Enum=0;1
	Version *int32 `json:"version,omitempty"`
	// Containers of a version 0 IotConnector: at most one Normalization and at most
	// one FhirTransformation, in one Pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.filter(c, c.type == 'Normalization').size() <= 1",message="a version 0 IotConnector has at most one Normalization container"
	// +kubebuilder:validation:XValidation:rule="self.filter(c, c.type == 'FhirTransformation' || c.type == 'FhirConverter').size() <= 1",message="a version 0 IotConnector has at most one FhirTransformation container"
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.type in ['Normalization', 'FhirTransformation', 'FhirConverter'])",message="a version 0 IotConnector has containers of type Normalization and FhirTransformation only; other destinations need version 1"
	Containers []Container `json:"containers,omitempty"`
	// Deployments of a version 1 IotConnector. Each becomes one Deployment.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Deployments []Deployment `json:"deployments,omitempty"`
	// ServiceIdentity is the managed identity that all containers act as.
	// +optional
	ServiceIdentity *ServiceIdentity `json:"serviceIdentity,omitempty"`
}

// Deployment is one entry of a version 1 spec. All its containers share a Pod,
// which is what side cars need.
type Deployment struct {
	// Name of the Deployment. Without it the name of the first container is used,
	// and without that the IotConnector's name, a dash, and the type in lower case.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
	// Type of the Deployment, any string such as EventhubDestination. Without it the
	// type of the first container.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([A-Za-z0-9]*))?$`
	Type string `json:"type,omitempty"`
	// Containers that share a Pod.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Containers []Container `json:"containers"`
	// Replicas of the Deployment. Left out, the number is not managed, so that an
	// autoscaler can.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of those containers that say nothing of their own.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Container runs one image.
type Container struct {
	// Name is the internal service name of what the container serves.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
	// Type of the container, such as Normalization, FhirConverter or
	// StorageDestination. New types need no new code.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Type string `json:"type"`
	// Image to run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image"`
	// EnvironmentVariables of the container.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	EnvironmentVariables []EnvironmentVariable `json:"environmentVariables,omitempty"`
	// ImagePullSecrets are the names of Secrets to pull the image with.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// Resources that the container needs.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// ReadinessProbe tells when the container serves.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// LivenessProbe tells when the container is to be restarted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// StartupProbe tells when the other probes begin to count.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// SecurityContext replaces ours, which satisfies the restricted Pod Security
	// Standard.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// EnvironmentVariable is a name with a value.
type EnvironmentVariable struct {
	// Name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`
}

// ServiceIdentity is a managed identity.
type ServiceIdentity struct {
	// ClientID of the managed identity.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientID string `json:"clientId,omitempty"`
	// ResourceID of the managed identity.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ResourceID string `json:"resourceId,omitempty"`
}

// IotConnectorStatus is what is known of an IotConnector.
type IotConnectorStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// -1 before the first look, so that no tool takes silence for readiness.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Version that runs. It follows that of the spec once nothing of the former
	// version is left.
	// +optional
	Version *int32 `json:"version,omitempty"`
	// Conditions of the IotConnector: Ready, and while they are true Reconciling and
	// Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Inventory lists what was made for the IotConnector, in the order of creation.
	// It is written before the first of it is made, and is what deletion goes by.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Inventory []Composed `json:"inventory,omitempty"`
	// Identity is the object by which all containers act as the managed identity.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
	// Previous tells of the spec before the upgrade. While it is there the upgrade
	// can be rolled back.
	// +optional
	Previous *PreviousSpec `json:"previous,omitempty"`
}

// Composed is one object that was made for an IotConnector.
type Composed struct {
	// Group of the object's kind, empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Version of the API that it was written with.
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// Kind of the object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Type of what a Deployment runs.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`
	// UID of the object. Empty when it is about to be created.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Wave in which it is created; deletion goes the other way round.
	// +optional
	Wave int32 `json:"wave,omitempty"`
	// Hash of what was last applied.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`
	// Mark is the hash of the fields that were ours when it was last applied: it
	// differs as soon as somebody else changes one of them.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Mark string `json:"mark,omitempty"`
	// Ready tells whether the object serves.
	// +optional
	Ready bool `json:"ready,omitempty"`
}

// Identity names the object that stands for the shared identity.
type Identity struct {
	// Kind of the object: ServiceAccount, or AzureIdentity.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// PreviousSpec identifies the spec that may be rolled back to.
type PreviousSpec struct {
	// Hash of the spec.
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`
}

// EffectiveVersion returns the shape that a spec has.
func (s *IotConnectorSpec) EffectiveVersion() int32 {
	switch {
	case s.Version != nil:
		return *s.Version
	case s.Deployments != nil:
		return Version1
	default:
		return Version0
	}
}
