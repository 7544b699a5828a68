package subnet

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Subnet"

type object = *openstackv1alpha1.Subnet

// References of a Subnet.
var References = kit.Bind[object](kind, []kit.Reference{
	// An address range is part of its network and has to go before it.
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "network_id"},
	{Target: "Router", Field: "spec.resource.routerRef"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
