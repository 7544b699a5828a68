package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The default label of spec.selector, by which an IotConnectorRelease finds its IotConnectors.
const (
	TierLabel        = "Tier"
	TierAlwaysUpdate = "AlwaysUpdate"
)

// IotConnectorRelease upgrades all matching IotConnectors to spec.version.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=iotr
// +kubebuilder:printcolumn:name="VERSION",type="integer",JSONPath=".spec.version"
// +kubebuilder:printcolumn:name="MATCHED",type="integer",JSONPath=".status.matched"
// +kubebuilder:printcolumn:name="UPTODATE",type="integer",JSONPath=".status.upToDate"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
type IotConnectorRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IotConnectorReleaseSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={}
	Status IotConnectorReleaseStatus `json:"status,omitempty"`
}

// IotConnectorReleaseList is a list of IotConnectorReleases.
//
// +kubebuilder:object:root=true
type IotConnectorReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IotConnectorRelease `json:"items"`
}

// IotConnectorReleaseSpec is the version that IotConnectors are upgraded to, and the strategy.
type IotConnectorReleaseSpec struct {
	// Version that all matching IotConnectors should be at. With 0 the release
	// changes nothing.
	// +kubebuilder:validation:Enum=0;1
	Version int32 `json:"version"`
	// Selector of the IotConnectors in the release's namespace.
	// +optional
	// +kubebuilder:default={matchLabels: {Tier: AlwaysUpdate}}
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Images to run, by container type. A type without an entry keeps its image.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t) <= 40 && size(self[t]) <= 1024)",message="a type has at most 40 characters, an image at most 1024"
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t) > 0 && size(self[t]) > 0)",message="give a type and an image"
	Images map[string]string `json:"images,omitempty"`
	// Strategy of the upgrade.
	// +optional
	// +kubebuilder:default={}
	Strategy ReleaseStrategy `json:"strategy,omitempty"`
}

// ReleaseStrategy says how an upgrade proceeds. IotConnectors are upgraded oldest
// first.
type ReleaseStrategy struct {
	// MaxUnavailable is how many IotConnectors may be not Ready because of the upgrade at the same
	// time: a number, or a percentage of the matching IotConnectors.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 1000000 : self.matches('^([1-9][0-9]?|100)%$')",message="give a number from 1, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxFailures is how many upgrades may fail before the release stops. A Stalled IotConnector
	// that the release never changed is no failure. An IotConnector that was rolled back after the
	// release had upgraded it is a failure.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxFailures *int32 `json:"maxFailures,omitempty"`
	// Paused starts no more upgrades. Upgrades that are under way continue.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// IotConnectorReleaseStatus is the observed state of an IotConnectorRelease.
type IotConnectorReleaseStatus struct {
	// ObservedGeneration is the metadata.generation that the status describes. -1 means that the
	// operator has not seen the object yet, so that no tool takes an empty status for Ready.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Matched is how many IotConnectors the release acts on.
	// +optional
	Matched int32 `json:"matched,omitempty"`
	// UpToDate is how many of the Matched are Ready at the version and images of the release.
	// +optional
	UpToDate int32 `json:"upToDate,omitempty"`
	// Upgrading is how many of the Matched were changed and are not Ready yet.
	// +optional
	Upgrading int32 `json:"upgrading,omitempty"`
	// Failed is how many of the Matched can't be upgraded as they are, or are Stalled at the
	// generation that the release wrote.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Failures names the first 32 of the Failed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Failures []ReleaseFailure `json:"failures,omitempty"`
	// Conditions of the release: Ready always, Reconciling and Stalled only while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReleaseFailure is an IotConnector that can't be upgraded as it is, or is Stalled at the
// generation that the release wrote.
type ReleaseFailure struct {
	// Name of the IotConnector.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Reason of the failure.
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}
