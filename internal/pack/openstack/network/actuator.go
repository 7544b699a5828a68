// Package network is the kind Network of the openstack pack, for /v2.0/networks of Neutron.
package network

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Network

// Table describes the requests for Networks.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, Names: names, Amend: amend,
	Serving: []string{"ACTIVE"}, Dated: true,
	Path: "networks", One: "network", Many: "networks", Fields: fields,
	Tags: func(n object) []string { return kit.Texts(n.Spec.Resource.Tags) },
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		kit.Default("shared", r.Shared, false),
		kit.Default("router:external", r.External, false),
		kit.Keep("mtu", r.MTU),
		kit.Keep("port_security_enabled", r.PortSecurityEnabled),
		kit.Fixed("dns_domain", r.DNSDomain),
		kit.List("availability_zone_hints", r.AvailabilityZoneHints).Fixed(),
	}
}

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"external":                 "router:external",
	"provider":                 "",
	"provider.networkType":     "provider:network_type",
	"provider.physicalNetwork": "provider:physical_network",
	"provider.segmentationID":  "provider:segmentation_id",
}

func amend(n object, _ *kit.Resource) {
	if p := n.Status.Resource.Provider; p != nil && p.NetworkType == "" {
		n.Status.Resource.Provider = nil // Only administrators see provider fields.
	}
}
