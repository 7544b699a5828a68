package addressscope

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, kind, (*openstack.Scope).Network, &table, Relations, observe)
}

var table = kit.Table[object]{
	Path: "address-scopes", One: "address_scope", Many: "address_scopes", Fields: fields, Filter: query,
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Fixed("ip_version", &r.IPVersion),
		kit.Default("shared", r.Shared, false),
		kit.Fixed("project_id", kit.ID(in, "Project", r.ProjectRef)),
	}
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "name", f.Name)
	kit.Add(q, "ip_version", f.IPVersion)
	kit.Add(q, "shared", f.Shared)
	kit.Add(q, "project_id", kit.ID(in, "Project", f.ProjectRef))
	return q.Values
}
