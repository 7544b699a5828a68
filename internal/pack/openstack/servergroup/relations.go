package servergroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "ServerGroup"

type object = *openstackv1alpha1.ServerGroup

// References are the [kit.Reference] values of a ServerGroup.
var References = kit.Bind[object](kind, nil)
