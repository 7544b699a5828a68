package routerinterface

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "RouterInterface"

type object = *openstackv1alpha1.RouterInterface

// References are the [kit.Reference] values of a RouterInterface.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Router", Field: "spec.routerRef"},
	{Target: "Subnet", Field: "spec.subnetRef"},
})
