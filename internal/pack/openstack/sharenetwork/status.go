package sharenetwork

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a ShareNetwork, which is available as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	s := &openstackv1alpha1.ShareNetworkResourceStatus{}
	kit.Report(r, s, nil)
	s.SegmentationID, s.IPVersion = kit.NonZero(s.SegmentationID), kit.NonZero(s.IPVersion)
	o.Status.Resource = s
	return reconcile.Outcome{}
}
