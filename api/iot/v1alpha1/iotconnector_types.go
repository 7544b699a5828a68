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

// Bounds of a spec, for clients that check an IotConnector before they write.
const (
	MaxDeployments = 64
	MaxContainers  = 16
	// MaxPreviousSpec is the maximum size in bytes of AnnotationPreviousSpec.
	MaxPreviousSpec = 128 << 10
)

// AnnotationPreviousSpec holds the spec, as JSON, that an IotConnector had before its upgrade.
// Rollback and people read the annotation. Deletion never depends on it.
const AnnotationPreviousSpec = "services.azurehealthcareapis.com/previous-spec"

// AnnotationRelease holds the uid of the IotConnectorRelease that changed an IotConnector last, and
// the generation of that change. The release counts whether that generation becomes Ready or
// Stalled.
const AnnotationRelease = "services.azurehealthcareapis.com/release"

// IotConnector reads device data and sends the data to destinations. The operator creates, updates
// and deletes a Deployment for each part of spec.
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

// IotConnectorSpec lists the parts of an IotConnector.
//
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || !has(self.deployments)",message="give either \"spec.containers\" (version 0) or \"spec.deployments\" (version 1), not both"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || self.version != 0 || !has(self.deployments)",message="\"spec.deployments\" belongs to version 1, and \"spec.version\" is 0"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || self.version != 1 || !has(self.containers)",message="\"spec.containers\" belongs to version 0, and \"spec.version\" is 1: list it under \"spec.deployments\""
// +kubebuilder:validation:XValidation:rule="has(self.deployments) || has(self.containers) || (has(self.version) && self.version == 1)",message="a version 0 IotConnector needs \"spec.containers\""
type IotConnectorSpec struct {
	// Version is the shape of the spec. Defaults to 1 if the spec has deployments, else to 0.
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
	// Deployments of a version 1 IotConnector. Each entry becomes a Deployment of apps/v1.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Deployments []Deployment `json:"deployments,omitempty"`
	// ServiceIdentity is the managed identity of all containers.
	// +optional
	ServiceIdentity *ServiceIdentity `json:"serviceIdentity,omitempty"`
}

// Deployment is an entry of a version 1 spec. All its containers share a Pod, as side cars must.
type Deployment struct {
	// Name of the Deployment. Defaults to the name of the first container, or else to the
	// IotConnector's name, a dash, and the type in lower case.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
	// Type of the Deployment, any string such as EventhubDestination. Defaults to the type of the
	// first container.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([A-Za-z0-9]*))?$`
	Type string `json:"type,omitempty"`
	// Containers that share a Pod.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Containers []Container `json:"containers"`
	// Replicas of the Deployment. Without replicas the operator leaves the number to an autoscaler.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of the containers that have no resources of their own.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// Container runs an image.
type Container struct {
	// Name is the internal service name of the container.
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
	// ReadinessProbe tells when the container is ready.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// LivenessProbe tells when the container must be restarted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// StartupProbe tells when ReadinessProbe and LivenessProbe begin to count.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.httpGet) || type(self.httpGet.port) == string || (self.httpGet.port >= 1 && self.httpGet.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	// +kubebuilder:validation:XValidation:rule="!has(self.tcpSocket) || type(self.tcpSocket.port) == string || (self.tcpSocket.port >= 1 && self.tcpSocket.port <= 65535)",message="a port is a number from 1 to 65535 or a name"
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// SecurityContext replaces the operator's default, which satisfies the restricted Pod Security
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

// IotConnectorStatus is the observed state of an IotConnector.
type IotConnectorStatus struct {
	// ObservedGeneration is the metadata.generation that the status describes. -1 means that the
	// operator has not seen the object yet, so that no tool takes an empty status for Ready.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Version that runs. status.version follows spec.version once no object of the former version
	// is left.
	// +optional
	Version *int32 `json:"version,omitempty"`
	// Conditions of the IotConnector: Ready always, Reconciling and Stalled only while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Inventory lists the objects created for the IotConnector, in the order of creation. The
	// operator records an object before its creation, and deletes only recorded objects.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Inventory []Composed `json:"inventory,omitempty"`
	// Identity is the object that gives all containers the managed identity.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
	// Previous identifies the spec before the upgrade. The upgrade can be rolled back while
	// Previous is set.
	// +optional
	Previous *PreviousSpec `json:"previous,omitempty"`
}

// Composed is an object that the operator created for an IotConnector.
type Composed struct {
	// Group of the object's kind, empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Version of the API that the object was written with, such as v1.
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// Kind of the object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Type of the spec's entry that a Deployment runs.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`
	// UID of the object. Empty until the object is created.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Wave in which the object is created. Deletion takes the waves in reverse order.
	// +optional
	Wave int32 `json:"wave,omitempty"`
	// Hash of the last applied configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`
	// Mark is the hash of the fields that the operator owned after the last apply. The hash differs
	// as soon as another client changes such a field.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Mark string `json:"mark,omitempty"`
	// Ready tells whether the object is ready.
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

// PreviousSpec identifies the spec that a rollback restores.
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
