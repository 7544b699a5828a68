package roleassignment

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a RoleAssignment, which is available as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = parts(r)
	return reconcile.Outcome{}
}
