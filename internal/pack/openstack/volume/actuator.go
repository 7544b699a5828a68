package volume

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Volume.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Lingers = true
	return k
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Volume, References: References, Observe: observe, Names: names,
	Path: "volumes", Listed: "volumes/detail", One: "volume", Many: "volumes", Marked: kit.MetadataField,
	Fields: fields,
	// A cloud may ignore the filters of ordinary users.
	Compared: []string{"name", "description", "size", "availabilityZone"},
	Adapt: func(in external.Input[object], query url.Values) {
		if name := in.Object.GetFilter().Name; name != nil {
			query.Set("name", string(*name))
		}
	},
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
