package subnet

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Subnet"

type (
	object = *openstackv1alpha1.Subnet
	spec   = openstackv1alpha1.SubnetResourceSpec
	filter = openstackv1alpha1.SubnetFilter
)

// Relations of a Subnet.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	// An address range is part of its network and has to go before it.
	kit.Guards(kind, "Network", "spec.resource.networkRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.NetworkRef} })),
	kit.Guards(kind, "Router", "spec.resource.routerRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.RouterRef) })),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Network", "spec.import.filter.networkRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.NetworkRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}
