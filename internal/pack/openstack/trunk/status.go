package trunk

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{"subports": "sub_ports"}

// observe reports a Trunk, which serves as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.TrunkResourceStatus{}
	kit.Report(r, o.Status.Resource, names)
	return reconcile.Outcome{}
}
