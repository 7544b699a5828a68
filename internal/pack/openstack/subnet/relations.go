package subnet

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Subnet"

type object = *openstackv1alpha1.Subnet

// References are the [kit.Reference] values of a Subnet.
var References = kit.Bind[object](kind, []kit.Reference{
	// A subnet is part of its network and must be deleted first.
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "network_id"},
	{Target: "Router", Field: "spec.resource.routerRef"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
