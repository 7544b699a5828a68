package volumetype

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

type pair = openstackv1alpha1.VolumeTypeExtraSpecStatus

// observe reports a VolumeType, which is available as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	status := &openstackv1alpha1.VolumeTypeResourceStatus{}
	kit.Report(r, status, nil)
	status.ExtraSpecs = kit.Pairs(r, specsField, func(key, value string) pair {
		return pair{Name: key, Value: value}
	})
	o.Status.Resource = status
	return reconcile.Outcome{}
}
