package roleassignment

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "RoleAssignment"

type object = *openstackv1alpha1.RoleAssignment

// References are the [kit.Reference] values of a RoleAssignment.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Role", Field: "spec.resource.roleRef", Body: "role_id", Query: "role.id"},
	{Target: "User", Field: "spec.resource.userRef", Body: "user_id", Query: "user.id"},
	{Target: "Group", Field: "spec.resource.groupRef", Body: "group_id", Query: "group.id"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "scope.project.id"},
	{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "scope.domain.id"},
})
