package endpoint

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Endpoint"

type object = *openstackv1alpha1.Endpoint

// References are the [kit.Reference] values of an Endpoint.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Service", Field: "spec.resource.serviceRef", Body: "service_id", Query: "service_id"},
})
