package routerinterface

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "RouterInterface"

type object = *openstackv1alpha1.RouterInterface

// Relations of a RouterInterface.
var Relations = []relation.Relation{
	kit.Guards(kind, "Router", "spec.routerRef", func(r object) kit.Refs { return kit.Refs{r.Spec.RouterRef} }),
	kit.Guards(kind, "Subnet", "spec.subnetRef", func(r object) kit.Refs { return kit.Names(r.Spec.SubnetRef) }),
}
