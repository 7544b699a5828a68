package trunk

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Trunk"

type object = *openstackv1alpha1.Trunk

// References are the [kit.Reference] values of a Trunk.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Port", Field: "spec.resource.portRef", Body: "port_id", Query: "port_id"},
	// The finalizer of subports has its own name: a Port may be a subport of one Trunk and, by
	// mistake, the port of another.
	{Target: "Port", Field: "spec.resource.subports[].portRef", Guard: "Trunk-Subport"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
