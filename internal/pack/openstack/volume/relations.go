package volume

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Volume"

type (
	object = *openstackv1alpha1.Volume
	spec   = openstackv1alpha1.VolumeResourceSpec
)

// Relations of a Volume.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "VolumeType", "spec.resource.volumeTypeRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.VolumeTypeRef) })),
	// Its content is copied: once that is done, the image can go.
	kit.Waits(kind, "Image", "spec.resource.imageRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ImageRef) })),
}
