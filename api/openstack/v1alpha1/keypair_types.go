package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// KeyPair is a public key that servers accept for logins.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=openstack
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.id"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Progressing')].message"
type KeyPair struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec KeyPairSpec `json:"spec"`
	// +optional
	Status KeyPairStatus `json:"status,omitempty"`
}

// KeyPairList is a list of KeyPair objects.
//
// +kubebuilder:object:root=true
type KeyPairList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KeyPair `json:"items"`
}

// KeyPairSpec describes a key pair: the desired state in Resource, or an existing resource in
// Import.
type KeyPairSpec struct {
	CommonSpec `json:",inline"`

	// Import finds the existing resource that the object represents.
	// +optional
	Import *KeyPairImport `json:"import,omitempty"`
	// Adopt finds an existing resource to manage, instead of creating a resource.
	// +optional
	Adopt *KeyPairImport `json:"adopt,omitempty"`
	// Resource is the desired state of the resource.
	// +optional
	Resource *KeyPairResourceSpec `json:"resource,omitempty"`
}

// KeyPairImport finds an existing resource, by its id or by a filter.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type KeyPairImport struct {
	// ID of the resource, which is its name.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ID *string `json:"id,omitempty"`
	// Filter that must match exactly 1 resource.
	// +optional
	Filter *KeyPairFilter `json:"filter,omitempty"`
}

// KeyPairFilter finds existing resources. All of its fields must match.
//
// +kubebuilder:validation:MinProperties=1
type KeyPairFilter struct {
	// Name of the resource.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
}

// KeyPairResourceSpec is the desired state of a key pair.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="KeyPairResourceSpec is immutable"
type KeyPairResourceSpec struct {
	// Name of the resource. Defaults to metadata.name of the object.
	// +optional
	Name *OpenStackName `json:"name,omitempty"`
	// Type of the key.
	// +optional
	// +kubebuilder:validation:Enum=ssh;x509
	Type *string `json:"type,omitempty"`
	// PublicKey is the key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	PublicKey string `json:"publicKey"`
}

// KeyPairStatus is the observed state of a key pair.
type KeyPairStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`

	// Resource is the state that OpenStack last reported.
	// +optional
	Resource *KeyPairResourceStatus `json:"resource,omitempty"`
}

// KeyPairResourceStatus is the state of a key pair that OpenStack last reported. The values are not
// validated.
type KeyPairResourceStatus struct {
	// Name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// Type of the key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// PublicKey is the key.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	PublicKey string `json:"publicKey"`
	// Fingerprint of the key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Fingerprint string `json:"fingerprint"`
}

// GetCommonSpec returns what all kinds have in common.
func (k *KeyPair) GetCommonSpec() *CommonSpec { return &k.Spec.CommonSpec }

// GetExternalSpec returns what is said of the resource.
func (k *KeyPair) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &k.Spec.ExternalSpec }

// GetExternalStatus returns what is known of the resource.
func (k *KeyPair) GetExternalStatus() *sharedv1alpha1.ExternalStatus {
	return &k.Status.ExternalStatus
}

// GetImport returns the id of the existing resource to take, if it is known by
// its id, and whether one is to be taken.
func (k *KeyPair) GetImport() (id string, asked bool) {
	i := cmp.Or(k.Spec.Import, k.Spec.Adopt)
	if i == nil || i.ID == nil {
		return "", i != nil
	}
	return *i.ID, true
}

// GetFilter returns the filter by which to find an existing resource, or nil.
func (k *KeyPair) GetFilter() *KeyPairFilter {
	if i := cmp.Or(k.Spec.Import, k.Spec.Adopt); i != nil {
		return i.Filter
	}
	return nil
}

// GetResource returns what the resource should be, or nil.
func (k *KeyPair) GetResource() *KeyPairResourceSpec { return k.Spec.Resource }

// GetResourceName returns the name that the resource should have.
func (k *KeyPair) GetResourceName() string {
	if s := k.Spec.Resource; s != nil && s.Name != nil {
		return string(*s.Name)
	}
	return k.Name
}
