package volume

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, kind, (*openstack.Scope).Volume, &table, Relations, observe)
	k.Lingers = true
	return k
}

var table = kit.Table[object]{
	Path: "volumes", Listed: "volumes/detail", One: "volume", Many: "volumes", Marked: kit.MetadataField,
	Fields: fields, Filter: query, Matches: matches,
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
		kit.Fixed("volume_type", kit.ID(in, "VolumeType", r.VolumeTypeRef)).Opaque(), // Told by name.
		kit.Fixed("availability_zone", r.AvailabilityZone),
		kit.Fixed("imageRef", kit.ID(in, "Image", r.ImageRef)),
		kit.Fixed("metadata", &metadata),
	}
}

func query(in external.Input[object]) url.Values {
	q := kit.NewQuery()
	kit.Add(q, "name", in.Object.GetFilter().Name)
	return q.Values
}

// matches has the filters that a cloud may have switched off for its users.
func matches(in external.Input[object], r *kit.Resource) bool {
	f := in.Object.GetFilter()
	return kit.Has(r, "name", f.Name) && kit.Has(r, "description", f.Description) && kit.Has(r, "size", f.Size) &&
		kit.Has(r, "availability_zone", f.AvailabilityZone)
}
