package group

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Group"

type object = *openstackv1alpha1.Group

// References are the [kit.Reference] values of a Group.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
})
