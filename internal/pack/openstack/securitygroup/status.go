package securitygroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a SecurityGroup. Kind.Vital contains the rules, so the group is available
// only when its rules are complete.
func observe(g object, r *kit.Resource) reconcile.Outcome {
	g.Status.Resource = &openstackv1alpha1.SecurityGroupResourceStatus{}
	kit.Report(r, g.Status.Resource, nil)
	g.Status.Resource.Rules = statuses(r)
	return reconcile.Outcome{}
}
