package securitygroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "SecurityGroup"

type object = *openstackv1alpha1.SecurityGroup

// References are the [kit.Reference] values of a SecurityGroup.
var References = kit.Bind[object](kind, []kit.Reference{
	// Neutron deletes a rule together with the group in its remote_group_id. Two groups often
	// name each other.
	{Target: kind, Field: "spec.resource.rules[].remoteGroupRef", Need: kit.Completed},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
