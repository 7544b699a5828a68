package router

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Router.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Network, References: References, Observe: observe,
	Dated: true,
	Path:  "routers", One: "router", Many: "routers", Fields: fields,
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
	}
}

func gateway(in external.Input[object]) *map[string]string {
	for _, g := range in.Object.Spec.Resource.ExternalGateways { // At most one.
		return &map[string]string{"network_id": *kit.ID(in, "Network", &g.NetworkRef)}
	}
	return nil
}
