package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The label by which a release finds its IotConnectors unless it says otherwise.
const (
	TierLabel        = "Tier"
	TierAlwaysUpdate = "AlwaysUpdate"
)

// IotConnectorRelease says what version all deployed IotConnectors should be at, and upgrades those that are below.
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

// IotConnectorReleaseSpec says what to bring IotConnectors to, and how fast.
//
// Source: seed 2, sections "Design" and "Rollout".
type IotConnectorReleaseSpec struct {
	// Version that all matching IotConnectors should be at. With 0 the release
	// changes nothing.
	// +kubebuilder:validation:Enum=0;1
	Version int32 `json:"version"`
	// Selector of the IotConnectors in the release's namespace.
	// +optional
	// +kubebuilder:default={matchLabels: {Tier: AlwaysUpdate}}
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Images to run, by container type. Types that are not named keep theirs.
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
	// MaxUnavailable is how many IotConnectors may be not Ready because of the
	// upgrade at one time: a number, or a percentage of those that match.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 1000000 : self.matches('^([1-9][0-9]?|100)%$')",message="give a number from 1, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxFailures is how many upgrades may fail before the release stops. What is
	// Stalled and was not changed by the release is no failure of it. What was rolled
	// back after the release had upgraded it is one.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxFailures *int32 `json:"maxFailures,omitempty"`
	// Paused begins no more upgrades. Those that were begun go on.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// IotConnectorReleaseStatus is what is known of a release.
type IotConnectorReleaseStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// -1 before the first look, so that no tool takes silence for readiness.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Matched is how many IotConnectors the release acts on.
	// +optional
	Matched int32 `json:"matched,omitempty"`
	// UpToDate is how many of them are as the release asks, and Ready.
	// +optional
	UpToDate int32 `json:"upToDate,omitempty"`
	// Upgrading is how many of them were changed and are not Ready yet.
	// +optional
	Upgrading int32 `json:"upgrading,omitempty"`
	// Failed is how many of them can't be upgraded as they are, or are Stalled as the
	// release has left them.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Failures names the failed ones, the first 32 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Failures []ReleaseFailure `json:"failures,omitempty"`
	// Conditions of the release: Ready, and while they are true Reconciling and
	// Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReleaseFailure is an IotConnector that can't be upgraded as it is, or is Stalled as the
// release has left it.
type ReleaseFailure struct {
	// Name of the IotConnector.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Reason why.
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}
