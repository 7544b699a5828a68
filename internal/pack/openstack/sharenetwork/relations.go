package sharenetwork

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "ShareNetwork"

type object = *openstackv1alpha1.ShareNetwork

// References are the [kit.Reference] values of a ShareNetwork.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Network", Field: "spec.resource.networkRef", Body: "neutron_net_id"},
	{Target: "Subnet", Field: "spec.resource.subnetRef", Body: "neutron_subnet_id"},
})
