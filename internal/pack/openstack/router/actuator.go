// Package router is the kind Router of the openstack pack, for /v2.0/routers of Neutron.
package router

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Router

// Table describes the requests for Routers.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, Amend: amend,
	Serving: []string{"ACTIVE"}, Dated: true,
	Path: "routers", One: "router", Many: "routers", Fields: fields,
	Tags: func(r object) []string { return kit.Texts(r.Spec.Resource.Tags) },
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Network", Field: "spec.resource.externalGateways[].networkRef"},
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
		kit.Fixed("external_gateway_info", gateway(in)),
		kit.Fixed("distributed", r.Distributed),
		kit.List("availability_zone_hints", r.AvailabilityZoneHints).Fixed(),
	}
}

func gateway(in external.Input[object]) *map[string]string {
	for _, g := range in.Object.Spec.Resource.ExternalGateways { // At most one.
		return &map[string]string{"network_id": *kit.ID(in, "Network", &g.NetworkRef)}
	}
	return nil
}

func amend(o object, r *kit.Resource) {
	if id, _ := r.Map("external_gateway_info")["network_id"].(string); id != "" {
		o.Status.Resource.ExternalGateways = []openstackv1alpha1.ExternalGatewayStatus{{NetworkID: id}}
	}
}
