package volume

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Volume"

type object = *openstackv1alpha1.Volume

// References are the [kit.Reference] values of a Volume.
var References = kit.Bind[object](kind, []kit.Reference{
	// Cinder reports the name of a volume type, not its ID.
	{Target: "VolumeType", Field: "spec.resource.volumeTypeRef", Body: "volume_type", Opaque: true},
	// Cinder copies the image into the volume: then the image may be deleted.
	{Target: "Image", Field: "spec.resource.imageRef", Need: kit.Once, Body: "imageRef"},
})
