package addressscope

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "AddressScope"

type object = *openstackv1alpha1.AddressScope

// References are the [kit.Reference] values of an AddressScope.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})
