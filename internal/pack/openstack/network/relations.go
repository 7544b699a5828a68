package network

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Network"

type object = *openstackv1alpha1.Network

// References are the [kit.Reference] values of a Network.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
