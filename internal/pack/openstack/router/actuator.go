package router

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
	Dated: true,
	Path:  "routers", One: "router", Many: "routers", Fields: fields, Filter: query,
	Tags: func(r object) []string { return kit.Texts(r.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		kit.Fixed("external_gateway_info", gateway(in)),
		kit.Fixed("distributed", r.Distributed),
		kit.FixedList("availability_zone_hints", r.AvailabilityZoneHints),
		kit.Fixed("project_id", kit.ID(in, "Project", r.ProjectRef)),
	}
}

func gateway(in external.Input[object]) *map[string]string {
	for _, g := range in.Object.Spec.Resource.ExternalGateways { // At most one.
		return &map[string]string{"network_id": *kit.ID(in, "Network", &g.NetworkRef)}
	}
	return nil
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "name", f.Name)
	kit.Add(q, "description", f.Description)
	kit.Add(q, "project_id", kit.ID(in, "Project", f.ProjectRef))
	q.NeutronTags(f.FilterByNeutronTags)
	return q.Values
}
