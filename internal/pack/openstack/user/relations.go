package user

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "User"

type object = *openstackv1alpha1.User

// References are the [kit.Reference] values of a User.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
	{Target: "Project", Field: "spec.resource.defaultProjectRef", Body: "default_project_id"},
	{Target: "Secret", Field: "spec.resource.passwordRef", Need: kit.Content},
})
