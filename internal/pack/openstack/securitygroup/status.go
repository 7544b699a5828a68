package securitygroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a group, which serves once its rules are there: that is what
// differs tells.
func observe(g object, r *kit.Resource) reconcile.Outcome {
	g.Status.Resource = &openstackv1alpha1.SecurityGroupResourceStatus{}
	kit.Report(r, g.Status.Resource, nil)
	g.Status.Resource.Rules = statuses(r)
	return reconcile.Outcome{}
}
