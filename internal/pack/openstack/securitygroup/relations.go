package securitygroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "SecurityGroup"

type object = *openstackv1alpha1.SecurityGroup

// References of a SecurityGroup.
var References = kit.Bind[object](kind, []kit.Reference{
	// Neutron would remove the rules with the group that they name. Groups often name
	// each other.
	{Target: kind, Field: "spec.resource.rules[].remoteGroupRef", Need: kit.Completed},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
