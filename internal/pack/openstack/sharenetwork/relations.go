package sharenetwork

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "ShareNetwork"

type (
	object = *openstackv1alpha1.ShareNetwork
	spec   = openstackv1alpha1.ShareNetworkResourceSpec
)

// Relations of a ShareNetwork.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Network", "spec.resource.networkRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.NetworkRef) })),
	kit.Guards(kind, "Subnet", "spec.resource.subnetRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.SubnetRef) })),
}
