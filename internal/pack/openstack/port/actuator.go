package port

import (
	"net/url"

	"k8s.io/utils/ptr"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, kind, (*openstack.Scope).Network, &table, Relations, observe)
	k.Uses = uses
	return k
}

var table = kit.Table[object]{
	Dated: true,
	Path:  "ports", One: "port", Many: "ports", Fields: fields, Filter: query,
	Tags: func(p object) []string { return kit.Texts(p.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	fixed := addresses(in)
	all := []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Fixed("network_id", kit.ID(in, "Network", &r.NetworkRef)),
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		// Left out, Neutron would choose an address and the default group.
		kit.Fixed("fixed_ips", &fixed).Opaque(),
		kit.Set("security_groups", groups(in)).Given(),
		kit.Set("allowed_address_pairs", pairs(r.AllowedAddressPairs)).Addresses(),
		kit.Keep("port_security_enabled", security(r.PortSecurity)),
		kit.Keep("binding:vnic_type", r.VnicType),
		kit.Fixed("mac_address", r.MacAddress).Opaque(),
		kit.Fixed("propagate_uplink_status", r.PropagateUplinkStatus),
		kit.Keep("trusted", r.TrustedVIF),
		kit.Fixed("project_id", kit.ID(in, "Project", r.ProjectRef)),
	}
	if host := hostOf(in); host != "" {
		all = append(all, kit.Fixed("binding:host_id", &host))
	}
	for _, v := range r.ValueSpecs {
		all = append(all, kit.Fixed(v.Key, &v.Value))
	}
	return all
}

// hostOf returns the host that the port is bound to from the beginning, if it is.
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
	all := make([]map[string]string, 0, len(in.Object.Spec.Resource.Addresses))
	for _, a := range in.Object.Spec.Resource.Addresses {
		one := map[string]string{"subnet_id": *kit.ID(in, "Subnet", &a.SubnetRef)}
		if a.IP != nil {
			one["ip_address"] = string(*a.IP)
		}
		all = append(all, one)
	}
	return all
}

func groups(in external.Input[object]) []string {
	ids := make([]string, 0, len(in.Object.Spec.Resource.SecurityGroupRefs))
	for _, name := range in.Object.Spec.Resource.SecurityGroupRefs {
		ids = append(ids, *kit.ID(in, "SecurityGroup", &name))
	}
	return ids
}

func pairs(all []openstackv1alpha1.AllowedAddressPair) []map[string]string {
	texts := make([]map[string]string, 0, len(all))
	for _, p := range all {
		one := map[string]string{"ip_address": string(p.IP)}
		if p.MAC != nil {
			one["mac_address"] = string(*p.MAC)
		}
		texts = append(texts, one)
	}
	return texts
}

// security returns nothing for what the network says.
func security(s openstackv1alpha1.PortSecurityState) *bool {
	if s != openstackv1alpha1.PortSecurityEnabled && s != openstackv1alpha1.PortSecurityDisabled {
		return nil
	}
	enabled := s == openstackv1alpha1.PortSecurityEnabled
	return &enabled
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "name", f.Name)
	kit.Add(q, "description", f.Description)
	kit.Add(q, "admin_state_up", f.AdminStateUp)
	kit.Add(q, "mac_address", f.MacAddress)
	kit.Add(q, "network_id", kit.ID(in, "Network", f.NetworkRef))
	kit.Add(q, "project_id", kit.ID(in, "Project", f.ProjectRef))
	q.NeutronTags(f.FilterByNeutronTags)
	return q.Values
}
