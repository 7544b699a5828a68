// Package port is the kind Port of the openstack pack, for /v2.0/ports of Neutron.
package port

import (
	"k8s.io/utils/ptr"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

type object = *openstackv1alpha1.Port

// References are the [kit.Reference] values of a Port.
var References = kit.Bind[object]([]kit.Reference{
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "network_id"},
	// Neutron refuses to delete a subnet while a port has an address of the subnet.
	{Target: "Subnet", Field: "spec.resource.addresses[].subnetRef"},
	{Target: "SecurityGroup", Field: "spec.resource.securityGroupRefs"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	{Target: "Server", Field: "spec.resource.hostID.serverRef", Need: kit.Once},
})

// Table describes the requests for Ports.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, References: References, Names: names, Uses: uses,
	Serving: []string{"ACTIVE", "DOWN"},
	Dated:   true,
	Path:    "ports", One: "port", Many: "ports", Fields: fields,
	Tags: func(p object) []string { return kit.Texts(p.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	fixed := addresses(in)
	all := []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		// If they are left out, Neutron chooses an address and the default security group.
		kit.Fixed("fixed_ips", &fixed).Opaque(),
		kit.Set("security_groups", kit.IDs(in, References, "spec.resource.securityGroupRefs")).Given(),
		kit.Set("allowed_address_pairs", lists.Map(r.AllowedAddressPairs, pair)).Addresses(),
		kit.Keep("port_security_enabled", security(r.PortSecurity)),
		kit.Keep("binding:vnic_type", r.VnicType),
		kit.Fixed("mac_address", r.MacAddress).Opaque(),
		kit.Fixed("propagate_uplink_status", r.PropagateUplinkStatus),
		kit.Keep("trusted", r.TrustedVIF),
	}
	if host := hostOf(in); host != "" {
		all = append(all, kit.Fixed("binding:host_id", &host))
	}
	for _, v := range r.ValueSpecs {
		all = append(all, kit.Fixed(v.Key, &v.Value))
	}
	return all
}

// hostOf returns the host for binding:host_id, or "".
func hostOf(in external.Input[object]) string {
	h := in.Object.Spec.Resource.HostID
	if h == nil || h.ServerRef == nil {
		return ptr.Deref(h, openstackv1alpha1.HostID{}).ID
	}
	server, ok := in.Refs.Object(kit.GK("Server"), string(*h.ServerRef)).(*openstackv1alpha1.Server)
	if !ok || server.Status.Resource == nil {
		return ""
	}
	return server.Status.Resource.HostID
}

func addresses(in external.Input[object]) []map[string]string {
	return lists.Map(in.Object.Spec.Resource.Addresses, func(a openstackv1alpha1.Address) map[string]string {
		one := map[string]string{"subnet_id": *kit.ID(in, "Subnet", &a.SubnetRef)}
		if a.IP != nil {
			one["ip_address"] = string(*a.IP)
		}
		return one
	})
}

func pair(p openstackv1alpha1.AllowedAddressPair) map[string]string {
	one := map[string]string{"ip_address": string(p.IP)}
	if p.MAC != nil {
		one["mac_address"] = string(*p.MAC)
	}
	return one
}

// security returns nil if the network decides.
func security(s openstackv1alpha1.PortSecurityState) *bool {
	if s != openstackv1alpha1.PortSecurityEnabled && s != openstackv1alpha1.PortSecurityDisabled {
		return nil
	}
	return new(s == openstackv1alpha1.PortSecurityEnabled)
}

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"fixedIPs.ip":             "ip_address",
	"allowedAddressPairs.ip":  "ip_address",
	"allowedAddressPairs.mac": "mac_address",
	"vnicType":                "binding:vnic_type",
	"hostID":                  "binding:host_id",
	"trustedVIF":              "trusted",
}

// uses returns the subnets of the port's addresses. If the spec has no addresses, Neutron
// chooses them.
func uses(p object) []external.Resource {
	if p.Status.Resource == nil {
		return nil
	}
	return lists.Map(p.Status.Resource.FixedIPs, func(a openstackv1alpha1.FixedIPStatus) external.Resource {
		return external.Resource{Kind: kit.GK("Subnet"), ID: a.SubnetID}
	})
}
