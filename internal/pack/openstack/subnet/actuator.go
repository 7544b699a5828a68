package subnet

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

const kind = "Subnet"

type object = *openstackv1alpha1.Subnet

// References are the [kit.Reference] values of a Subnet.
var References = kit.Bind[object]([]kit.Reference{
	// A subnet is part of its network and must be deleted first.
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "network_id"},
	{Target: "Router", Field: "spec.resource.routerRef"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
})

// New returns the [external.Kind] of Subnet.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	child := children{c.Live}
	k.Compose, k.Dissolve = child.compose, child.dissolve
	return k
}

var table = kit.Table[object]{
	Service: (*openstack.Scope).Network, References: References, Names: names,
	Dated: true,
	Path:  "subnets", One: "subnet", Many: "subnets", Fields: fields,
	Tags: func(s object) []string { return kit.Texts(s.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	all := []kit.Field{
		kit.Fixed("ip_version", &r.IPVersion),
		kit.Fixed("cidr", &r.CIDR).Addresses(),
		kit.Default("description", r.Description, ""),
		kit.Default("enable_dhcp", r.EnableDHCP, true),
		kit.List("dns_nameservers", r.DNSNameservers).Addresses(),
		kit.Set("host_routes", lists.Map(r.HostRoutes, route)).Addresses(),
		kit.Fixed("dns_publish_fixed_ip", r.DNSPublishFixedIP),
		gateway(r.Gateway),
	}
	if len(r.AllocationPools) > 0 { // If the spec has none, Neutron has chosen them.
		all = append(all, kit.Set("allocation_pools", r.AllocationPools).Addresses())
	}
	if v6 := r.IPv6; v6 != nil {
		all = append(all, kit.Fixed("ipv6_address_mode", v6.AddressMode), kit.Fixed("ipv6_ra_mode", v6.RAMode))
	}
	return all
}

// gateway returns the field gateway_ip: the address of the spec, or null for type None. A
// gateway that Neutron chose stays.
func gateway(g *openstackv1alpha1.SubnetGateway) kit.Field {
	switch {
	case g != nil && g.Type == openstackv1alpha1.GatewayNone:
		return kit.Always("gateway_ip", nil)
	case g != nil && g.Type == openstackv1alpha1.GatewayIP:
		return kit.Keep("gateway_ip", g.IP).Addresses()
	default:
		return kit.Keep[string]("gateway_ip", nil)
	}
}

func route(r openstackv1alpha1.HostRoute) map[string]string {
	return map[string]string{"destination": string(r.Destination), "nexthop": string(r.NextHop)}
}

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"subnetPoolID":       "subnetpool_id",
	"hostRoutes.nextHop": "nexthop",
	"dnsPublishFixedIP":  "dns_publish_fixed_ip",
	"ipv6.addressMode":   "ipv6_address_mode",
	"ipv6.raMode":        "ipv6_ra_mode",
}
