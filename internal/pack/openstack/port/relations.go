package port

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Port"

type object = *openstackv1alpha1.Port

// References are the [kit.Reference] values of a Port.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "network_id"},
	// Neutron refuses to delete a subnet while a port has an address of the subnet.
	{Target: "Subnet", Field: "spec.resource.addresses[].subnetRef"},
	{Target: "SecurityGroup", Field: "spec.resource.securityGroupRefs"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	{Target: "Server", Field: "spec.resource.hostID.serverRef", Need: kit.Once},
})
