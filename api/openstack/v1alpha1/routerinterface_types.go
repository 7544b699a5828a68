package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// RouterInterfaceType is the kind of object that is connected to a Router.
//
// +kubebuilder:validation:Enum=Subnet
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=8
type RouterInterfaceType string

// RouterInterfaceTypeSubnet connects a Subnet.
const RouterInterfaceTypeSubnet RouterInterfaceType = "Subnet"

// RouterInterfaceSpec names a Subnet and the Router that connects it.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Subnet' ? has(self.subnetRef) : !has(self.subnetRef)",message="subnetRef is required when type is 'Subnet' and not permitted otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type is immutable"
// +kubebuilder:validation:XValidation:rule="self.routerRef == oldSelf.routerRef",message="routerRef is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.subnetRef) == has(oldSelf.subnetRef) && (!has(self.subnetRef) || self.subnetRef == oldSelf.subnetRef)",message="subnetRef is immutable"
type RouterInterfaceSpec struct {
	// Type of the connected object.
	Type RouterInterfaceType `json:"type"`
	// RouterRef names the Router.
	RouterRef KubernetesNameRef `json:"routerRef"`
	// SubnetRef names the Subnet.
	// +optional
	SubnetRef *KubernetesNameRef `json:"subnetRef,omitempty"`
	// Adopt takes over the existing connection of Router and Subnet, instead of creating a
	// connection. Without adopt, a connection that no RouterInterface created is left alone.
	// +optional
	Adopt *RouterInterfaceAdoption `json:"adopt,omitempty"`
	// ResyncPeriod is how often the interface is compared with the spec. 0s switches the comparison
	// off. Defaults to the period that the operator is started with.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="type(duration(self)) == google.protobuf.Duration",message="give a duration such as 90s, 10m or 1h30m"
	ResyncPeriod *metav1.Duration `json:"resyncPeriod,omitempty"`
}

// RouterInterfaceAdoption selects the existing connection of the Router and the Subnet. OpenStack
// allows at most one connection, so that ID can be left out.
type RouterInterfaceAdoption struct {
	// ID of the port that connects Router and Subnet. Without id the port is found by Router and
	// Subnet.
	// +optional
	ID *UUID `json:"id,omitempty"`
}

// RouterInterfaceStatus is the observed state of the connection. status.id is the id of the
// connecting port.
type RouterInterfaceStatus struct {
	sharedv1alpha1.ExternalStatus `json:",inline"`
}

// GetExternalSpec returns what is said of the resource.
func (r *RouterInterface) GetExternalSpec() *sharedv1alpha1.ExternalSpec {
	return &sharedv1alpha1.ExternalSpec{
		ManagementPolicy: sharedv1alpha1.PolicyManaged, ResyncPeriod: r.Spec.ResyncPeriod,
	}
}

// GetImport reports whether an existing connection is adopted. The id is always empty: the
// connection is searched even if spec.adopt.id is given, because a port that connects another
// Router or Subnet must not be adopted.
func (r *RouterInterface) GetImport() (id string, asked bool) { return "", r.Spec.Adopt != nil }
