package volumetype

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "VolumeType"

type object = *openstackv1alpha1.VolumeType

// Relations of a VolumeType.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
