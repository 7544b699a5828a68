package router

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Router"

type object = *openstackv1alpha1.Router

// References are the [kit.Reference] values of a Router.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Network", Field: "spec.resource.externalGateways[].networkRef"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
