package volume

import (
	"net/url"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Volume

// Table describes the requests for Volumes.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Volume, Observe: observe, Names: names,
	Path: "volumes", Listed: "volumes/detail", One: "volume", Many: "volumes", Marked: kit.MetadataField,
	Fields: fields, Lingers: true,
	// A cloud may ignore the filters of ordinary users.
	Compared: []string{"name", "description", "size", "availabilityZone"},
	Adapt: func(in external.Input[object], query url.Values) {
		if name := in.Object.GetFilter().Name; name != nil {
			query.Set("name", string(*name))
		}
	},
	References: kit.Bind[object]([]kit.Reference{
		// Cinder reports the name of a volume type, not its ID.
		{Target: "VolumeType", Field: "spec.resource.volumeTypeRef", Body: "volume_type", Opaque: true},
		// Cinder copies the image into the volume: then the image may be deleted.
		{Target: "Image", Field: "spec.resource.imageRef", Need: kit.Once, Body: "imageRef"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	metadata := map[string]string{}
	for _, m := range r.Metadata {
		metadata[m.Name] = m.Value
	}
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Fixed("size", &r.Size),
		kit.Fixed("availability_zone", r.AvailabilityZone),
		kit.Fixed("metadata", &metadata),
	}
}
