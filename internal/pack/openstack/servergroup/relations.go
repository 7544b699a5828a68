package servergroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "ServerGroup"

type object = *openstackv1alpha1.ServerGroup

// Relations of a ServerGroup.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
