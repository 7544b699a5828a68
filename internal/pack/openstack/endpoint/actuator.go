package endpoint

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, kind, (*openstack.Scope).Identity, &table, Relations, observe)
}

var table = kit.Table[object]{
	Place: (*openstack.Scope).Cloud,
	Path:  "endpoints", One: "endpoint", Many: "endpoints", Patch: true, NoName: true, Fields: fields, Filter: query,
	Matches: func(in external.Input[object], r *kit.Resource) bool { // Keystone does not filter by it.
		f := in.Object.GetFilter()
		return f.URL == nil || *f.URL == r.String("url")
	},
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("interface", r.Interface),
		kit.Always("url", r.URL),
		kit.Default("enabled", r.Enabled, true),
		kit.Fixed("service_id", kit.ID(in, "Service", &r.ServiceRef)),
		kit.Fixed("description", r.Description),
	}
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "interface", f.Interface)
	kit.Add(q, "service_id", kit.ID(in, "Service", f.ServiceRef))
	return q.Values
}
