package role

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Role"

type object = *openstackv1alpha1.Role

// References are the [kit.Reference] values of a Role.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
})
