package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "openstack.k-orc.cloud", Version: "v1alpha1"}

// AddToScheme adds this package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AddressScope{}, &AddressScopeList{},
		&ApplicationCredential{}, &ApplicationCredentialList{},
		&Domain{}, &DomainList{},
		&Endpoint{}, &EndpointList{},
		&Flavor{}, &FlavorList{},
		&FloatingIP{}, &FloatingIPList{},
		&Group{}, &GroupList{},
		&Image{}, &ImageList{},
		&KeyPair{}, &KeyPairList{},
		&Network{}, &NetworkList{},
		&Port{}, &PortList{},
		&Project{}, &ProjectList{},
		&Role{}, &RoleList{},
		&RoleAssignment{}, &RoleAssignmentList{},
		&Router{}, &RouterList{},
		&RouterInterface{}, &RouterInterfaceList{},
		&SecurityGroup{}, &SecurityGroupList{},
		&Server{}, &ServerList{},
		&ServerGroup{}, &ServerGroupList{},
		&Service{}, &ServiceList{},
		&ShareNetwork{}, &ShareNetworkList{},
		&Subnet{}, &SubnetList{},
		&Trunk{}, &TrunkList{},
		&User{}, &UserList{},
		&Volume{}, &VolumeList{},
		&VolumeType{}, &VolumeTypeList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
