package router

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a Router, which is available while its status is ACTIVE.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.RouterResourceStatus{}
	kit.Report(r, o.Status.Resource, nil)
	if id, _ := r.Map("external_gateway_info")["network_id"].(string); id != "" {
		o.Status.Resource.ExternalGateways = []openstackv1alpha1.ExternalGatewayStatus{{NetworkID: id}}
	}
	return kit.Status(r, "ACTIVE")
}
