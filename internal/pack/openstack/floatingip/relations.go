package floatingip

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "FloatingIP"

type object = *openstackv1alpha1.FloatingIP

// References are the [kit.Reference] values of a FloatingIP.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Network", Field: "spec.resource.floatingNetworkRef", Query: "floating_network_id"},
	{Target: "Subnet", Field: "spec.resource.floatingSubnetRef", Body: "subnet_id"},
	{Target: "Port", Field: "spec.resource.portRef", Body: "port_id", Query: "port_id"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
