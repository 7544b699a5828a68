// Package floatingip is the kind FloatingIP of the openstack pack, for /v2.0/floatingips of
// Neutron.
package floatingip

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.FloatingIP

// Table describes the requests for FloatingIPs.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, Names: names, Uses: uses,
	Serving: []string{"ACTIVE", "DOWN"},
	// With port_id alone, Neutron would choose another fixed address of the port, or answer 400
	// if the port has several.
	Along: []string{"port_id", "fixed_ip_address"},
	// A floating IP has no name, so only the mark in its description identifies it.
	Marked: "description",
	Path:   "floatingips", One: "floatingip", Many: "floatingips", NoName: true, Fields: fields,
	Tags: func(f object) []string { return kit.Texts(f.Spec.Resource.Tags) },
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Network", Field: "spec.resource.floatingNetworkRef", Query: "floating_network_id"},
		{Target: "Subnet", Field: "spec.resource.floatingSubnetRef", Body: "subnet_id"},
		{Target: "Port", Field: "spec.resource.portRef", Body: "port_id", Query: "port_id"},
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Fixed("floating_network_id", network(in)),
		kit.Fixed("floating_ip_address", r.FloatingIP).Addresses(),
		kit.Fixed("fixed_ip_address", r.FixedIP).Addresses(),
	}
}

// network returns the ID of the external network. If the spec has floatingSubnetRef, the
// network is status.resource.networkID of the Subnet.
func network(in external.Input[object]) *string {
	r := in.Object.Spec.Resource
	if r.FloatingSubnetRef == nil {
		return kit.ID(in, "Network", r.FloatingNetworkRef)
	}
	subnet, ok := in.Refs.Object(kit.GK("Subnet"), string(*r.FloatingSubnetRef)).(*openstackv1alpha1.Subnet)
	if !ok || subnet.Status.Resource == nil {
		return nil
	}
	return &subnet.Status.Resource.NetworkID
}

// names are the fields with another name in OpenStack.
var names = map[string]string{"floatingIP": "floating_ip_address", "fixedIP": "fixed_ip_address"}

// uses returns the router of the floating IP: its interface and its gateway can't be removed
// before the floating IP.
func uses(f object) []external.Resource {
	if f.Status.Resource == nil || f.Status.Resource.RouterID == "" {
		return nil
	}
	return []external.Resource{{Kind: kit.GK("Router"), ID: f.Status.Resource.RouterID}}
}
