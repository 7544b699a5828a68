package volumetype

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "VolumeType"

type object = *openstackv1alpha1.VolumeType

// References are the [kit.Reference] values of a VolumeType.
var References = kit.Bind[object](kind, nil)
