package volume

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Volume"

type object = *openstackv1alpha1.Volume

// References of a Volume.
var References = kit.Bind[object](kind, []kit.Reference{
	// Cinder reports a volume type by its name.
	{Target: "VolumeType", Field: "spec.resource.volumeTypeRef", Body: "volume_type", Opaque: true},
	// Its content is copied: once that is done, the image can go.
	{Target: "Image", Field: "spec.resource.imageRef", Need: kit.Once, Body: "imageRef"},
})
