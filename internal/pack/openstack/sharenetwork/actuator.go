// Package sharenetwork is the kind ShareNetwork of the openstack pack, for /v2/share-networks
// of Manila.
package sharenetwork

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.ShareNetwork

// Table describes the requests for ShareNetworks.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Share, Amend: amend,
	Dated: true,
	Path:  "share-networks", One: "share_network", Many: "share_networks",
	Listed: "share-networks/detail", Fields: fields,
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Network", Field: "spec.resource.networkRef", Body: "neutron_net_id"},
		{Target: "Subnet", Field: "spec.resource.subnetRef", Body: "neutron_subnet_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
	}
}

func amend(o object, _ *kit.Resource) {
	s := o.Status.Resource
	s.SegmentationID, s.IPVersion = kit.NonZero(s.SegmentationID), kit.NonZero(s.IPVersion)
}
