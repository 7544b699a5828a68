package subnet

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{
	"subnetPoolID":       "subnetpool_id",
	"hostRoutes.nextHop": "nexthop",
	"dnsPublishFixedIP":  "dns_publish_fixed_ip",
}

// observe reports a subnet, which serves as soon as it exists.
func observe(s object, r *kit.Resource) reconcile.Outcome {
	s.Status.Resource = &openstackv1alpha1.SubnetResourceStatus{}
	kit.Report(r, s.Status.Resource, names)
	return reconcile.Outcome{}
}
