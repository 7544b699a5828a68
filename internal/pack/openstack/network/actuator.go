package network

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Network.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Network, References: References, Observe: observe, Names: names,
	Dated: true,
	Path:  "networks", One: "network", Many: "networks", Fields: fields,
	Tags: func(n object) []string { return kit.Texts(n.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		kit.Default("shared", r.Shared, false),
		kit.Default("router:external", r.External, false),
		kit.Keep("mtu", r.MTU),
		kit.Keep("port_security_enabled", r.PortSecurityEnabled),
		kit.Fixed("dns_domain", r.DNSDomain),
		kit.FixedList("availability_zone_hints", r.AvailabilityZoneHints),
	}
}
