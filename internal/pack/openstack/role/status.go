package role

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a Role, which serves as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.RoleResourceStatus{}
	kit.Report(r, o.Status.Resource, nil)
	return reconcile.Outcome{}
}
