package volumetype

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

type pair = openstackv1alpha1.VolumeTypeExtraSpecStatus

func amend(o object, r *kit.Resource) {
	o.Status.Resource.ExtraSpecs = kit.Pairs(r, specsField, func(key, value string) pair {
		return pair{Name: key, Value: value}
	})
}
