package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// OpenStackName is the name of a resource.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^[^,]+$`
type OpenStackName string

// KeystoneName is the name of a resource of the identity service.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type KeystoneName string

// OpenStackDescription describes a resource.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type OpenStackDescription string

// NeutronDescription describes a resource of the network service.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type NeutronDescription string

// NeutronTag is a tag of a resource of the network service.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type NeutronTag string

// KeystoneTag is a tag of a project.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type KeystoneTag string

// KubernetesNameRef is the name of an object in the same namespace.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type KubernetesNameRef string

// UUID is the id of most resources.
//
// +kubebuilder:validation:Format=uuid
// +kubebuilder:validation:MaxLength=36
type UUID string

// CIDR is an address range.
//
// +kubebuilder:validation:Format=cidr
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=49
type CIDR string

// IPvAny is an IPv4 or IPv6 address.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=45
type IPvAny string

// MAC is a hardware address.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=17
type MAC string

// IPVersion is a version of the internet protocol.
//
// +kubebuilder:validation:Enum=4;6
type IPVersion int32

// AvailabilityZoneHint names a zone where a resource should be placed.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type AvailabilityZoneHint string

// DNSDomain is a domain of the DNS.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]{1,63}(.[A-Za-z0-9-]{1,63})*(.[A-Za-z]{2,63})*.?$`
type DNSDomain string

// MTU is the size of the largest packet.
//
// +kubebuilder:validation:Minimum=68
// +kubebuilder:validation:Maximum=9216
type MTU int32

// PortNumber is a number of a transport port, or a type or code of ICMP.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=65535
type PortNumber int32

// CloudCredentialsReference names the clouds.yaml, and the entry in it, that a resource is managed
// with.
type CloudCredentialsReference struct {
	// SecretName is a Secret in the same namespace. Key clouds.yaml holds the credentials, key
	// cacert a certificate to trust.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// CloudName is the entry of clouds.yaml to use.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	CloudName string `json:"cloudName"`
}

// CommonSpec has the fields that the specs of all kinds but RouterInterface have in common.
//
// +kubebuilder:validation:XValidation:rule="self.managementPolicy == 'managed' ? has(self.resource) : true",message="resource must be specified when policy is managed"
// +kubebuilder:validation:XValidation:rule="self.managementPolicy == 'managed' ? !has(self.__import__) : true",message="import may not be specified when policy is managed"
// +kubebuilder:validation:XValidation:rule="self.managementPolicy == 'unmanaged' ? !has(self.resource) : true",message="resource may not be specified when policy is unmanaged"
// +kubebuilder:validation:XValidation:rule="self.managementPolicy == 'unmanaged' ? has(self.__import__) : true",message="import must be specified when policy is unmanaged"
// +kubebuilder:validation:XValidation:rule="has(self.managedOptions) ? self.managementPolicy == 'managed' : true",message="managedOptions may only be provided when policy is managed"
// +kubebuilder:validation:XValidation:rule="has(self.adopt) ? self.managementPolicy == 'managed' : true",message="adopt may only be provided when policy is managed"
type CommonSpec struct {
	// CloudCredentialsRef names the credentials that the resource is managed with.
	CloudCredentialsRef CloudCredentialsReference `json:"cloudCredentialsRef"`

	sharedv1alpha1.ExternalSpec `json:",inline"`
}

// FilterByNeutronTags finds resources of the network service by their tags.
type FilterByNeutronTags struct {
	// Tags matches resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tags []NeutronTag `json:"tags,omitempty"`
	// TagsAny matches resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	TagsAny []NeutronTag `json:"tagsAny,omitempty"`
	// NotTags leaves out resources that have all of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	NotTags []NeutronTag `json:"notTags,omitempty"`
	// NotTagsAny leaves out resources that have any of these tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	NotTagsAny []NeutronTag `json:"notTagsAny,omitempty"`
}

// NeutronStatusMetadata has the fields that the network service reports of most resources.
type NeutronStatusMetadata struct {
	// CreatedAt is when the resource was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// UpdatedAt is when the resource was last changed.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// RevisionNumber counts changes of the resource.
	// +optional
	RevisionNumber *int64 `json:"revisionNumber"`
}
